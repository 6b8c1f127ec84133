import { expect } from 'chai';
import { injectPod } from '../../../src/injection/inject.ts';
import { DEFAULT_SETTINGS } from '../../../src/injection/settings.ts';
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
  it('refuses a pod whose proxy is told by its user, and says what to do', () => {
    const { pod } = requireInjected(injectPod(PLAIN, IN_MESH, fakeInjection()));
    expect(rootlessRefusal(specOf(pod.spec))).to.match(/settings\.proxyMark.*`mesh lab up` as root/);
  });

  it('runs a pod that the built-in injection has given a sidecar with a mark', () => {
    const context = fakeInjection({ values: { ...DEFAULT_SETTINGS, proxyMark: '1337' } });
    const { pod } = requireInjected(injectPod(PLAIN, IN_MESH, context));
    const spec = specOf(pod.spec);
    expect(rootlessRefusal(spec)).to.equal(undefined);
    expect(spec.initContainers[0]?.args).to.include.members(['--proxy-mark', '1337', '--exclude-outbound-ports', '8060']);
    const proxy = spec.containers.find(({ name }) => name === 'mesh-proxy');
    expect(proxy?.args).to.include.members(['--proxyMark', '1337']);
    expect(proxy?.user.addCapabilities).to.deep.equal(['NET_ADMIN']);
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
