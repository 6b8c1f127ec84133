import { expect } from 'chai';
import { injectPod } from '../../../src/injection/inject.ts';
import { parsePodSpec } from '../../../src/lab/kubelet/parse-pod-spec.ts';
import type { PodSpec } from '../../../src/lab/kubelet/pod-spec.ts';
import { rootlessRefusal } from '../../../src/lab/kubelet/rootless-limits.ts';
import { fakeInjection, IN_MESH, requireInjected } from '../../fakes/injection.ts';

const PLAIN = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web' },
  spec: { containers: [{ name: 'web', image: 'httpbin' }] },
};

function specOf(spec: unknown): PodSpec {
  const parsed = parsePodSpec({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
}

describe('a lab without root', () => {
  it('refuses a pod that the built-in injection has given a sidecar, and says what to do', () => {
    const { pod } = requireInjected(injectPod(PLAIN, IN_MESH, fakeInjection()));
    expect(rootlessRefusal(specOf(pod.spec))).to.match(/needs a lab that root has started.*`mesh lab up` as root/);
  });

  it('runs a pod without a sidecar', () => {
    expect(rootlessRefusal(specOf(PLAIN.spec))).to.equal(undefined);
  });

  for (const args of [['--proxy-mark', '7'], ['--proxy-mark=7']]) {
    it(`runs a pod whose proxy is told by a mark: ${args.join(' ')}`, () => {
      const initContainers = [{ name: 'mesh-init', image: 'mesh/proxy-init', args }];
      expect(rootlessRefusal(specOf({ ...PLAIN.spec, initContainers }))).to.equal(undefined);
    });
  }
});
