import { expect } from 'chai';
import type { KubeObject } from '../../../src/model/object.ts';
import { type PolicyFaults, withFaults } from '../../../src/pilot-discovery/policy-status.ts';

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
  const changed = withFaults(object, faults, reporter);
  if (changed === undefined) throw new Error('nothing to write');
  return changed;
};
const conditions = (object: KubeObject) => (object['status'] as { conditions: readonly object[] }).conditions;

describe('status of a policy', () => {
  it('is not touched while nothing is wrong', () => {
    expect(withFaults(policy(), undefined, at('10:00:00'))).to.equal(undefined);
    expect(withFaults(policy({ note: 1 }), undefined, at('10:00:00'))).to.equal(undefined);
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
    expect(withFaults(rejected, REJECTED, at('11:00:00'))).to.equal(undefined);
    const cleared = reported(rejected, undefined, at('11:00:00'));
    expect(conditions(cleared)).to.have.length(1);
    expect(conditions(cleared)[0]).to.include({ status: 'True', reason: 'Accepted', lastTransitionTime: '2026-01-01T11:00:00Z' });
    expect(withFaults(cleared, undefined, at('12:00:00'))).to.equal(undefined);
  });

  it('says that an older policy is in force, whoever reports it', () => {
    const conflicted = reported(policy(), CONFLICT);
    expect(conditions(conflicted)[0]).to.include({ type: 'Conflicted', status: 'True', message: CONFLICT.conflict });
    expect(withFaults(conflicted, CONFLICT, at('10:01:00', 'b'))).to.equal(undefined);
    expect(conditions(reported(conflicted, undefined, at('10:01:00', 'b')))[0]).to.include({ status: 'False' });
  });

  it('leaves the rejection that another server reported alone until it is old', () => {
    const rejected = reported(policy(), REJECTED);
    expect(withFaults(rejected, undefined, at('10:05:00', 'b'))).to.equal(undefined);
    expect(withFaults(rejected, { ...REJECTED, rejected: 'otherwise' }, at('10:05:00', 'b'))).to.equal(undefined);
    expect(conditions(reported(rejected, undefined, at('10:11:00', 'b')))[0]).to.include({ status: 'True' });
  });

  it('keeps conditions and fields of others', () => {
    const object = reported(policy({ note: 1, conditions: [{ type: 'Other', status: 'True' }] }), CONFLICT);
    expect(object['status']).to.include({ note: 1 });
    expect(conditions(object)[0]).to.deep.equal({ type: 'Other', status: 'True' });
  });
});
