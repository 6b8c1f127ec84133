import { expect } from 'chai';
import { deploymentStatus, TEMPLATE_HASH_LABEL, templateHashOf } from '../../../src/lab/controllers/deployment-plan.ts';
import { podView } from '../../../src/lab/controllers/pod-view.ts';
import { refusedPodStatus } from '../../../src/lab/controllers/refusal.ts';
import { NeverReady } from '../../../src/lab/never-ready.ts';
import { blockers } from '../../../src/lab/pod-readiness.ts';
import type { KubeObject } from '../../../src/model/object.ts';

const pod = (status: unknown, extra: { readonly spec?: unknown; readonly metadata?: Partial<KubeObject['metadata']> } = {}) =>
  podView({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'foo', uid: 'u', ...extra.metadata },
    spec: extra.spec ?? {},
    status,
  });

const waiting = (name: string, reason: string, restartCount = 0, exitCode = 3) => ({
  name,
  restartCount,
  state: { waiting: { reason, message: `about ${name}` } },
  lastState: restartCount === 0 && exitCode === 3 ? {} : { terminated: { exitCode } },
});

const DEPLOYMENT: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'foo', uid: 'd' },
  spec: { replicas: 1, template: { spec: { containers: [] } } },
};

/** What is told of a state that lasts. */
function told(pods: readonly ReturnType<typeof pod>[], deployments: readonly KubeObject[] = []): readonly string[] {
  const neverReady = new NeverReady();
  neverReady.among(deployments, pods, 0);
  return neverReady.among(deployments, pods, 1_000);
}

describe('what can never be ready in a lab', () => {
  it('an image that stands for nothing, a refused pod', () => {
    expect(told([pod({ containerStatuses: [waiting('c', 'ErrImageNeverPull')] })])).to.deep.equal([
      'pod foo/web: c: ErrImageNeverPull: about c',
    ]);
    expect(told([pod(refusedPodStatus('annotation x is unknown'))])).to.deep.equal(['pod foo/web: annotation x is unknown']);
  });

  it('a deployment whose pods are refused; what waits for it says so too', () => {
    const status = deploymentStatus(DEPLOYMENT, templateHashOf(DEPLOYMENT), [], 'annotation x is unknown');
    const refused = { ...DEPLOYMENT, status };
    expect(told([], [refused])).to.deep.equal(['deployment foo/web: annotation x is unknown']);
    expect(blockers([refused], [])).to.deep.equal([
      'deployment foo/web: has 0 of 1 pods, and 0 old ones: annotation x is unknown',
    ]);
  });

  it('a program that is missing, at its first failure', () => {
    const [line] = told([pod({ containerStatuses: [waiting('c', 'CrashLoopBackOff', 0, 127)] })]);
    expect(line).to.match(/^pod foo\/web: c: CrashLoopBackOff: about c; what it printed: mesh lab logs web.foo -c c$/);
  });

  it('an init container that has failed four times while one waited, whatever it had counted before', () => {
    const neverReady = new NeverReady();
    const at = (restarts: number, now: number) =>
      neverReady.among([], [pod({ initContainerStatuses: [waiting('init', 'CrashLoopBackOff', restarts)] })], now);
    expect(at(10, 0)).to.deep.equal([]);
    expect(at(12, 3_000)).to.deep.equal([]);
    expect(at(13, 7_000)).to.deep.equal([]);
    expect(at(13, 8_000)).to.have.length(1);
  });

  it('not an application that fails, nor a sidecar among the init containers: they may wait for others', () => {
    const neverReady = new NeverReady();
    const application = (restarts: number) => pod({ containerStatuses: [waiting('c', 'CrashLoopBackOff', restarts)] });
    const sidecar = (restarts: number) =>
      pod(
        { initContainerStatuses: [waiting('proxy', 'CrashLoopBackOff', restarts)] },
        { spec: { initContainers: [{ name: 'proxy', restartPolicy: 'Always' }] } },
      );
    for (const [now, restarts] of [0, 9, 9].entries())
      expect(neverReady.among([], [sidecar(restarts), application(restarts)], now * 1_000)).to.deep.equal([]);
  });

  it('not what an object said before the lab has looked at it again', () => {
    const neverReady = new NeverReady();
    const refused = pod(refusedPodStatus('bad'));
    expect(neverReady.among([], [refused], 0)).to.deep.equal([]);
    expect(neverReady.among([], [pod({ phase: 'Pending' })], 500)).to.deep.equal([]);
    expect(neverReady.among([], [refused], 1_000)).to.deep.equal([]);
  });

  it('not a pod of a deployment that has another template by now', () => {
    const status = { containerStatuses: [waiting('c', 'ErrImageNeverPull')] };
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'd' }];
    const of = (hash: string) => pod(status, { metadata: { ownerReferences, labels: { [TEMPLATE_HASH_LABEL]: hash } } });
    expect(told([of('old')], [DEPLOYMENT])).to.deep.equal([]);
    expect(told([of(templateHashOf(DEPLOYMENT))], [DEPLOYMENT])).to.have.length(1);
  });
});
