import { expect } from 'chai';
import type { KubeObject } from '../../../src/model/object.ts';
import { type PolicyFaults, withReport } from '../../../src/pilot-discovery/policy-status.ts';

const REJECTED: PolicyFaults = { rejected: 'proxies reject it', conflict: undefined };
const CONFLICT: PolicyFaults = { rejected: undefined, conflict: 'an older one claims the same' };
const at = (time: string, id = 'a') => ({ id, now: new Date(`2026-01-01T${time}Z`) });

const policy = (status?: object): KubeObject => ({
  apiVersion: 'authentication.mesh.io/v1alpha1',
  kind: 'Policy',
  metadata: { name: 'p', namespace: 'foo' },
  spec: {},
  ...(status === undefined ? {} : { status }),
});
const reported = (object: KubeObject, faults: PolicyFaults | undefined, reporter = at('10:00:00')): KubeObject => {
  const changed = withReport(object, faults, reporter);
  if (changed === undefined) throw new Error('nothing to write');
  return changed;
};
const conditions = (object: KubeObject) => (object['status'] as { conditions: readonly object[] }).conditions;

describe('status of a policy', () => {
  it('is not touched while nothing is wrong', () => {
    expect(withReport(policy(), undefined, at('10:00:00'))).to.equal(undefined);
    expect(withReport(policy({ note: 1 }), undefined, at('10:00:00'))).to.equal(undefined);
  });

  it('says that proxies reject it, once, and that they do no more', () => {
    const rejected = reported(policy(), REJECTED);
    expect(conditions(rejected)).to.deep.equal([
      {
        type: 'Accepted',
        status: 'False',
        reason: 'RejectedByProxies',
        message: 'proxies reject it',
        reportedBy: 'a',
        lastTransitionTime: '2026-01-01T10:00:00Z',
      },
    ]);
    expect(withReport(rejected, REJECTED, at('11:00:00'))).to.equal(undefined);
    const cleared = reported(rejected, undefined, at('11:00:00'));
    expect(conditions(cleared)).to.have.length(1);
    expect(conditions(cleared)[0]).to.include({ status: 'True', reason: 'Accepted', lastTransitionTime: '2026-01-01T11:00:00Z' });
    expect(withReport(cleared, undefined, at('12:00:00'))).to.equal(undefined);
  });

  it('says that an older policy is in force, whoever reports it', () => {
    const conflicted = reported(policy(), CONFLICT);
    expect(conditions(conflicted)[0]).to.include({ type: 'Conflicted', status: 'True', message: CONFLICT.conflict });
    expect(withReport(conflicted, CONFLICT, at('10:01:00', 'b'))).to.equal(undefined);
    expect(conditions(reported(conflicted, undefined, at('10:01:00', 'b')))[0]).to.include({ status: 'False' });
  });

  it('leaves the rejection that another server reported alone until it is old', () => {
    const rejected = reported(policy(), REJECTED);
    expect(withReport(rejected, undefined, at('10:05:00', 'b'))).to.equal(undefined);
    expect(withReport(rejected, { ...REJECTED, rejected: 'otherwise' }, at('10:05:00', 'b'))).to.equal(undefined);
    expect(conditions(reported(rejected, undefined, at('10:11:00', 'b')))[0]).to.include({ status: 'True' });
  });

  it('says once how it stands where an API server keeps it, with the generation that it is about', () => {
    const stored = (status?: object): KubeObject => ({
      ...policy(status),
      metadata: { name: 'p', namespace: 'foo', generation: 3 },
    });
    const report = {
      rejected: undefined,
      conflict: undefined,
      services: ['a.foo', 'b.foo'],
      proxies: { connected: 2, acknowledged: 1 },
    };
    const first = withReport(stored(), report, at('10:00:00'));
    expect(first?.['status']).to.deep.include({
      observedGeneration: 3,
      services: { total: 2, names: ['a.foo', 'b.foo'] },
      proxies: [{ reportedBy: 'a', observedGeneration: 3, connected: 2, acknowledged: 1 }],
    });
    const states = (object: KubeObject | undefined): readonly string[] =>
      conditions(object ?? stored()).map((condition) => {
        const { type, status, reason, observedGeneration } = condition as Record<string, unknown>;
        return `${type} ${status} ${reason} ${observedGeneration}`;
      });
    expect(states(first)).to.deep.equal([
      'Accepted True Accepted 3',
      'Conflicted False NoConflict 3',
      'Acknowledged False Pending 3',
    ]);
    const again = first ?? stored();
    expect(withReport(again, report, at('10:01:00')), 'the same again').to.equal(undefined);
    const taken = withReport(again, { ...report, proxies: { connected: 2, acknowledged: 2 } }, at('10:02:00'));
    expect(states(taken)[2]).to.equal('Acknowledged True AcknowledgedByProxies 3');
    expect(conditions(taken ?? stored())[0], 'what did not change keeps its time').to.include({
      lastTransitionTime: '2026-01-01T10:00:00Z',
    });
  });

  it('adds up what several servers say, and forgets those that are gone', () => {
    const stored = (status?: object): KubeObject => ({
      ...policy(status),
      metadata: { name: 'p', namespace: 'foo', generation: 3 },
    });
    const report = (acknowledged: number) => ({
      rejected: undefined,
      conflict: undefined,
      services: [],
      proxies: { connected: 2, acknowledged },
    });
    const statusOf = (object: KubeObject | undefined) => object?.['status'] as { proxies: readonly { reportedBy: string }[] };
    const ofA = withReport(stored(), report(1), at('10:00:00', 'a'));
    const ofBoth = withReport(stored(statusOf(ofA)), report(2), at('10:01:00', 'b'));
    expect(statusOf(ofBoth).proxies.map(({ reportedBy }) => reportedBy)).to.deep.equal(['a', 'b']);
    expect(withReport(stored(statusOf(ofBoth)), report(1), at('10:02:00', 'a')), 'neither has the last word').to.equal(undefined);
    const left = withReport(stored(statusOf(ofBoth)), report(2), { ...at('10:03:00', 'b'), isGone: (id) => id === 'a' });
    expect(statusOf(left).proxies.map(({ reportedBy }) => reportedBy)).to.deep.equal(['b']);
    expect(conditions(left ?? stored())[2]).to.include({ type: 'Acknowledged', status: 'True' });
  });

  it('keeps conditions and fields of others', () => {
    const object = reported(policy({ note: 1, conditions: [{ type: 'Other', status: 'True' }] }), CONFLICT);
    expect(object['status']).to.include({ note: 1 });
    expect(conditions(object)[0]).to.deep.equal({ type: 'Other', status: 'True' });
  });
});
