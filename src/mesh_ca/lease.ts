/** What stands in a Lease (coordination.k8s.io/v1) that elects a leader, and what is written into it. Pure. */
import { type Duration, seconds } from '../lib/duration.ts';
import type { Kinds } from '../model/kinds.ts';
import type { KubeObject } from '../model/object.ts';

export interface LeaseState {
  /** Empty: nobody's. */
  readonly holder: string;
  readonly duration: Duration;
  /** As it was written; `undefined` where there is none. */
  readonly acquired: unknown;
  readonly transitions: number;
}

/** What is written where a Lease says nothing. */
const DEFAULT_DURATION: Duration = seconds(15);

export function readLease(object: KubeObject): LeaseState {
  const { spec } = object;
  const fields = typeof spec === 'object' && spec !== null ? (spec as Readonly<Record<string, unknown>>) : {};
  const { holderIdentity, leaseDurationSeconds, acquireTime, leaseTransitions } = fields;
  return {
    holder: typeof holderIdentity === 'string' ? holderIdentity : '',
    duration: typeof leaseDurationSeconds === 'number' ? seconds(leaseDurationSeconds) : DEFAULT_DURATION,
    acquired: acquireTime,
    transitions: typeof leaseTransitions === 'number' ? leaseTransitions : 0,
  };
}

export interface LeaseClaim {
  /** Empty: gives it back. */
  readonly holder: string;
  readonly duration: Duration;
  readonly now: Date;
}

/** The Lease with a claim in it, in place of what was read before. */
export function claimedLease(
  kinds: Kinds,
  name: { readonly namespace: string; readonly name: string },
  before: KubeObject | undefined,
  { holder, duration, now }: LeaseClaim,
): KubeObject {
  const state = before === undefined ? undefined : readLease(before);
  const time = microTime(now);
  const isSame = state !== undefined && state.holder === holder;
  const transitions = state === undefined ? 0 : state.transitions + (isSame || holder === '' ? 0 : 1);
  return {
    apiVersion: kinds.lease.apiVersion,
    kind: kinds.lease.kind,
    metadata: { ...before?.metadata, ...name },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: Math.max(1, Math.round(duration / 1000)),
      acquireTime: isSame ? (state.acquired ?? time) : time,
      renewTime: time,
      leaseTransitions: transitions,
    },
  };
}

/** MicroTime of the API: six digits after the second. */
function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}
