/** What the status of a policy says about its being in force, as conditions of the Kubernetes API. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { AuthnPolicy } from '../model/authn-policy.ts';
import { compareText } from '../model/identity.ts';
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
  readonly type: 'Accepted' | 'Conflicted' | 'Acknowledged';
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly reportedBy: string;
}

export interface Reporter {
  /** Stays the same over restarts. */
  readonly id: string;
  readonly now: Date;
  /** Whether another server is known to be gone; undefined: nobody knows. */
  readonly isGone?: (id: string) => boolean | undefined;
}

/** A rejection that another server reported so long ago is taken for abandoned, unless the server is known. */
const ABANDONED_MS = 600_000;
/** Names that are told; of the rest the number is. */
const MAX_SERVICES = 20;

/** What is reported beyond faults, where the object is kept by an API server. */
export interface PolicyReach {
  readonly services: readonly string[];
  readonly proxies: { readonly connected: number; readonly acknowledged: number };
}

/**
 * The object with the status that it should have; undefined when it has that already. An API server's object (which has a generation)
 * always says how it stands; any other only what is wrong with it. Other conditions and fields stay.
 * https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties
 */
export function withReport(
  object: KubeObject,
  report: (PolicyFaults & Partial<PolicyReach>) | undefined,
  reporter: Reporter,
): KubeObject | undefined {
  const status = fieldsOf(object['status']);
  const before = listOf(status['conditions']);
  const { generation } = object.metadata;
  const isKept = generation !== undefined;
  const proxies =
    isKept && report?.proxies !== undefined ? proxyEntries(status, report.proxies, generation, reporter) : undefined;
  const wanted = [
    acceptance(before, report?.rejected, reporter, isKept),
    conflict(before, report?.conflict, reporter, isKept),
    proxies === undefined ? undefined : acknowledgement(before, proxies, generation ?? 0, reporter),
  ];
  const conditions = merged(
    before,
    wanted.filter((condition) => condition !== undefined),
    reporter,
    generation,
  );
  const next = {
    ...status,
    conditions,
    ...(isKept ? { observedGeneration: generation } : {}),
    ...(isKept && report?.services !== undefined ? { services: summaryOf(report.services) } : {}),
    ...(proxies === undefined ? {} : { proxies }),
  };
  if (conditions.length === 0 || isDeepStrictEqual(next, status)) return undefined;
  return { ...object, status: next };
}

/** The times of conditions that stay as they are stay too. */
function merged(
  before: readonly Fields[],
  wanted: readonly (Condition | Fields)[],
  { now }: Reporter,
  generation: number | undefined,
): readonly Fields[] {
  const dated = wanted.map((condition): Fields => {
    const current = before.find(({ type }) => type === condition['type']);
    const kept = current !== undefined && current['status'] === condition['status'] ? current['lastTransitionTime'] : undefined;
    const lastTransitionTime = kept ?? now.toISOString().replace(/\.\d+Z$/, 'Z');
    return { ...condition, ...(generation === undefined ? {} : { observedGeneration: generation }), lastTransitionTime };
  });
  const replaced = before.map((condition) => dated.find(({ type }) => type === condition['type']) ?? condition);
  return [...replaced, ...dated.filter(({ type }) => !before.some((condition) => condition['type'] === type))];
}

/** Each server sees its own proxies only, so a rejection is cleared by who reported it. */
function acceptance(
  before: readonly Fields[],
  message: string | undefined,
  reporter: Reporter,
  always: boolean,
): Condition | Fields | undefined {
  const current = before.find(({ type }) => type === 'Accepted');
  const reportedBy = reporter.id;
  if (message !== undefined) {
    if (current?.['status'] === 'False' && (current['message'] === message || !isOurs(current, reporter))) return current;
    return { type: 'Accepted', status: 'False', reason: 'RejectedByProxies', message, reportedBy };
  }
  if (current?.['status'] === 'False') {
    if (!isOurs(current, reporter)) return current;
    return { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'no proxy rejects it any more', reportedBy };
  }
  if (current !== undefined || !always) return current;
  return { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'no proxy rejects it', reportedBy };
}

/** What policies there are, all servers agree on. */
function conflict(
  before: readonly Fields[],
  message: string | undefined,
  reporter: Reporter,
  always: boolean,
): Condition | Fields | undefined {
  const current = before.find(({ type }) => type === 'Conflicted');
  const reportedBy = reporter.id;
  if (message !== undefined) {
    if (current?.['status'] === 'True' && current['message'] === message) return current;
    return { type: 'Conflicted', status: 'True', reason: 'OlderPolicyInForce', message, reportedBy };
  }
  if (current === undefined ? !always : current['status'] !== 'True') return current;
  return { type: 'Conflicted', status: 'False', reason: 'NoConflict', message: 'no other policy claims the same', reportedBy };
}

/** Servers agree on this once each has said how its own proxies stand. It counts nobody, so that it does not change with every pod. */
function acknowledgement(
  before: readonly Fields[],
  entries: readonly Fields[],
  generation: number,
  { id: reportedBy }: Reporter,
): Condition | Fields {
  const current = before.find(({ type }) => type === 'Acknowledged');
  const wanted = { type: 'Acknowledged', ...acknowledged(entries, generation), reportedBy } as const;
  return current?.['status'] === wanted.status && current['message'] === wanted.message ? current : wanted;
}

function acknowledged(entries: readonly Fields[], generation: number): Pick<Condition, 'status' | 'reason' | 'message'> {
  if (entries.length === 0) {
    return { status: 'Unknown', reason: 'NoProxies', message: 'no proxy that it decides about is connected' };
  }
  const isTaken = entries.every(
    (entry) => entry['observedGeneration'] === generation && entry['connected'] === entry['acknowledged'],
  );
  return isTaken
    ? { status: 'True', reason: 'AcknowledgedByProxies', message: 'all connected proxies that it decides about have taken it' }
    : { status: 'False', reason: 'Pending', message: 'not all connected proxies that it decides about have taken it yet' };
}

/** Each server has its own entry in the list, and takes out those of servers that are gone. */
function proxyEntries(
  status: Fields,
  { connected, acknowledged }: PolicyReach['proxies'],
  generation: number,
  { id, isGone }: Reporter,
): readonly Fields[] {
  const others = listOf(status['proxies']).filter(
    ({ reportedBy }) => typeof reportedBy === 'string' && reportedBy !== id && isGone?.(reportedBy) !== true,
  );
  const own = connected === 0 ? [] : [{ reportedBy: id, observedGeneration: generation, connected, acknowledged }];
  return [...others, ...own].sort((a, b) => compareText(String(a['reportedBy']), String(b['reportedBy'])));
}

function summaryOf(services: readonly string[]): Fields {
  return { total: services.length, names: services.slice(0, MAX_SERVICES) };
}

function isOurs(condition: Fields, { id, now, isGone }: Reporter): boolean {
  const { reportedBy } = condition;
  if (reportedBy === id) return true;
  const gone = typeof reportedBy === 'string' ? isGone?.(reportedBy) : undefined;
  if (gone !== undefined) return gone;
  const since = Date.parse(String(condition['lastTransitionTime']));
  return Number.isNaN(since) || now.getTime() - since > ABANDONED_MS;
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
