/** What the status of a policy says about its being in force, as conditions of the Kubernetes API. Pure. */
import type { AuthnPolicy } from '../model/authn-policy.ts';
import type { KubeObject } from '../model/object.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { policyConflicts } from '../policy/conflicts.ts';
import { describePolicy } from '../policy/describe.ts';
import type { Rejection } from './rejected.ts';
import { describeName } from './rejections.ts';
import { resourceTypeName } from './resource-types.ts';

/** What is wrong with one policy; nothing: undefined. */
export interface PolicyFaults {
  readonly rejected: string | undefined;
  readonly conflict: string | undefined;
}

const MAX_MESSAGE = 500;

/** The policies with something wrong, by `Kind namespace/name`. */
export function policyFaults(snapshot: Snapshot, rejections: readonly Rejection[]): ReadonlyMap<string, PolicyFaults> {
  const faults = new Map<string, PolicyFaults>();
  const add = (name: string, fault: Partial<PolicyFaults>): void => {
    const known = faults.get(name) ?? { rejected: undefined, conflict: undefined };
    // Of several, the first: a message that changes with every further proxy would be written again and again.
    faults.set(name, { rejected: known.rejected ?? fault.rejected, conflict: known.conflict ?? fault.conflict });
  };
  for (const { objects, typeUrl, message } of rejections) {
    const [culprit] = objects;
    if (culprit === undefined || culprit.kind === 'Service') continue;
    const rejected = `proxies reject the ${resourceTypeName(typeUrl) ?? typeUrl} made from it: ${message}`;
    add(describeName(culprit), { rejected: rejected.slice(0, MAX_MESSAGE) });
  }
  const all: readonly AuthnPolicy[] = [...snapshot.policies.mesh, ...[...snapshot.policies.namespaces.values()].flat()];
  const portNumber = (namespace: string, service: string, port: string): number | undefined =>
    snapshot.servicesByHostname
      .get(`${service}.${namespace}.svc.${snapshot.domain}`)
      ?.ports.find((candidate) => candidate.name === port)?.number;
  for (const { loser, message } of policyConflicts(all, portNumber)) {
    add(describePolicy(loser), { conflict: message.slice(0, MAX_MESSAGE) });
  }
  return faults;
}

type Fields = Readonly<Record<string, unknown>>;

interface Condition {
  readonly type: 'Accepted' | 'Conflicted';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly reportedBy: string;
}

export interface Reporter {
  /** Stays the same over restarts. */
  readonly id: string;
  readonly now: Date;
}

/** A rejection that another server reported so long ago is taken for abandoned. */
const ABANDONED_MS = 600_000;

/** The object with the conditions that it should have; undefined when it has them already. Other conditions and fields stay. */
export function withFaults(object: KubeObject, faults: PolicyFaults | undefined, reporter: Reporter): KubeObject | undefined {
  const status = fieldsOf(object['status']);
  const before = Array.isArray(status['conditions']) ? status['conditions'].map(fieldsOf) : [];
  const wanted = [acceptance(before, faults?.rejected, reporter), conflict(before, faults?.conflict, reporter)];
  const changed = wanted.filter((condition) => condition !== undefined);
  if (changed.length === 0) return undefined;
  const types: readonly unknown[] = changed.map(({ type }) => type);
  const lastTransitionTime = reporter.now.toISOString().replace(/\.\d+Z$/, 'Z');
  const conditions = [
    ...before.filter(({ type }) => !types.includes(type)),
    ...changed.map((condition) => ({ ...condition, lastTransitionTime })),
  ];
  return { ...object, status: { ...status, conditions } };
}

/** Each server sees its own proxies only, so a rejection is cleared by who reported it. */
function acceptance(before: readonly Fields[], message: string | undefined, reporter: Reporter): Condition | undefined {
  const current = before.find(({ type }) => type === 'Accepted');
  const reportedBy = reporter.id;
  if (message !== undefined) {
    if (current?.['status'] === 'False' && (current['message'] === message || !isOurs(current, reporter))) return undefined;
    return { type: 'Accepted', status: 'False', reason: 'RejectedByProxies', message, reportedBy };
  }
  if (current?.['status'] !== 'False' || !isOurs(current, reporter)) return undefined;
  return { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'no proxy rejects it any more', reportedBy };
}

/** What policies there are, all servers agree on. */
function conflict(before: readonly Fields[], message: string | undefined, reporter: Reporter): Condition | undefined {
  const current = before.find(({ type }) => type === 'Conflicted');
  const reportedBy = reporter.id;
  if (message !== undefined) {
    if (current?.['status'] === 'True' && current['message'] === message) return undefined;
    return { type: 'Conflicted', status: 'True', reason: 'OlderPolicyInForce', message, reportedBy };
  }
  if (current?.['status'] !== 'True') return undefined;
  return { type: 'Conflicted', status: 'False', reason: 'NoConflict', message: 'no other policy claims the same', reportedBy };
}

function isOurs(condition: Fields, { id, now }: Reporter): boolean {
  if (condition['reportedBy'] === id) return true;
  const since = Date.parse(String(condition['lastTransitionTime']));
  return Number.isNaN(since) || now.getTime() - since > ABANDONED_MS;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
