import { expect } from 'chai';
import { type ContainerRecord, isPodReady, type PodRecord, podStatus } from '../../../src/lab/kubelet/pod-status.ts';

const AT = '2026-01-01T00:00:00.000Z';
const RUNNING: ContainerRecord = {
  name: 'app',
  image: 'app',
  sidecar: false,
  state: { type: 'running', startedAt: AT },
  lastState: undefined,
  ready: true,
  started: true,
  restarts: 0,
};
const INIT: ContainerRecord = {
  ...RUNNING,
  name: 'init',
  state: { type: 'terminated', exitCode: 0, reason: 'Completed', finishedAt: AT },
  ready: false,
  started: false,
};
const SIDECAR: ContainerRecord = { ...RUNNING, name: 'proxy', sidecar: true };

const pod = (...initContainers: readonly ContainerRecord[]): PodRecord => ({
  podIp: '10.244.0.2',
  hostIp: '10.244.0.1',
  startTime: AT,
  blocked: undefined,
  initialized: true,
  initContainers,
  containers: [RUNNING],
  outcome: undefined,
});

const conditionOf = (record: PodRecord, type: string) => {
  const { conditions } = podStatus(record, () => AT) as {
    conditions: readonly { type: string; status: string; message?: string }[];
  };
  return conditions.find((condition) => condition.type === type);
};

describe('the status of a pod', () => {
  it('is ready when its native sidecars are, and says which are not', () => {
    expect(isPodReady(pod(INIT, SIDECAR))).to.equal(true);
    const unready = pod(INIT, { ...SIDECAR, ready: false });
    expect(isPodReady(unready)).to.equal(false);
    expect(conditionOf(unready, 'Ready')).to.include({ status: 'False', message: 'containers with unready status: [proxy]' });
  });

  it('counts init containers that have ended well as ready', () => {
    const failed: ContainerRecord = { ...INIT, state: { type: 'terminated', exitCode: 1, reason: 'Error', finishedAt: AT } };
    const { initContainerStatuses } = podStatus(pod(INIT, failed, SIDECAR), () => AT) as {
      initContainerStatuses: readonly { ready: boolean; started: boolean }[];
    };
    expect(initContainerStatuses.map(({ ready }) => ready)).to.deep.equal([true, false, true]);
    expect(initContainerStatuses.map(({ started }) => started)).to.deep.equal([false, false, true]);
  });
});
