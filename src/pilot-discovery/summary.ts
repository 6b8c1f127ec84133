/** What the debug pages say about the configuration in force. */
import type { ConfigSource, ProxyNode, TypeUrl } from '../delivery/ports.ts';
import type { Problem } from '../lib/errors.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import { describeService } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { describePolicy } from '../policy/describe.ts';
import { policyProblems } from '../policy/problems.ts';
import { decodeResource } from '../xds/decode.ts';
import { mixsProblems } from '../xds/mixs-problems.ts';
import type { TranslationProblem } from '../xds/translate.ts';
import { listed } from './debug-response.ts';
import type { Proxies } from './proxies.ts';
import type { Publisher } from './publisher.ts';
import type { Rejection } from './rejected.ts';
import { describeName } from './rejections.ts';
import { RESOURCE_TYPE_NAMES, TYPE_URLS } from './resource-types.ts';

export interface SnapshotSummary {
  readonly sequence: number;
  /** `Kind namespace/name` -> resourceVersion of everything that decides about authentication. */
  readonly objects: Readonly<Record<string, string>>;
  /** The mesh configuration in force. */
  readonly mesh?: MeshConfig;
  readonly problems: readonly Problem[];
  readonly rejected: readonly RejectionSummary[];
}

export interface RejectionSummary {
  readonly type: string;
  readonly objects: readonly string[];
  readonly proxies: readonly string[];
  readonly message: string;
  readonly since: string;
}

/** The last push and what became of it. */
export interface PushStatus {
  readonly sequence: number;
  readonly pushedAt: string | undefined;
  readonly proxies: { readonly connected: number; readonly current: number };
  readonly rejected: readonly RejectionSummary[];
  readonly problems: readonly Problem[];
}

export interface SummarySources {
  readonly publisher: Publisher;
  readonly proxies: Proxies;
  /** Of what was read. */
  readonly problems: () => readonly Problem[];
  readonly translationProblems: (snapshot: Snapshot) => readonly TranslationProblem[];
  readonly rejections: () => readonly Rejection[];
  readonly pushedAt: () => Date | undefined;
}

export function summariseSnapshot(sources: SummarySources): SnapshotSummary {
  const { snapshot, sequence } = sources.publisher;
  const rejected = sources.rejections().map(summariseRejection);
  if (snapshot === undefined) return { sequence, objects: {}, problems: sources.problems(), rejected };
  const policies = snapshot.inputs.policies.map((policy): [string, string] => [describePolicy(policy), policy.resourceVersion]);
  const problems = allProblems(sources, snapshot);
  return { sequence, objects: Object.fromEntries(policies), mesh: snapshot.mesh, problems, rejected };
}

export function summarisePush(sources: SummarySources): PushStatus {
  const { snapshot, sequence } = sources.publisher;
  const proxies = sources.proxies.list();
  return {
    sequence,
    pushedAt: sources.pushedAt()?.toISOString(),
    proxies: { connected: proxies.length, current: proxies.filter((proxy) => proxy.sequence >= sequence).length },
    rejected: sources.rejections().map(summariseRejection),
    problems: snapshot === undefined ? sources.problems() : allProblems(sources, snapshot),
  };
}

function allProblems(sources: SummarySources, snapshot: Snapshot): readonly Problem[] {
  const ofPolicies = policyProblems(snapshot).map(({ policy, message }) => ({ path: describePolicy(policy), message }));
  const ofServices = sources
    .translationProblems(snapshot)
    .map(({ service, message }) => ({ path: `Service ${describeService(service)}`, message }));
  const ofMixs = mixsProblems(snapshot).map(({ path, message }) => ({ path: `mesh configuration: ${path}`, message }));
  return [...sources.problems(), ...ofPolicies, ...ofServices, ...ofMixs];
}

function summariseRejection({ typeUrl, objects, proxies, message, since }: Rejection): RejectionSummary {
  return { type: typeUrl, objects: objects.map(describeName), proxies, message, since: since.toISOString() };
}

/**
 * The resources one proxy gets, by type, of the snapshot now in force: the text of a JSON object, a resource at a time, for those of a large mesh are
 * many times their size as text.
 */
export function dumpConfiguration(source: ConfigSource, node: ProxyNode): Iterable<string> {
  const sets = RESOURCE_TYPE_NAMES.map((name) => [name, source.resources(node, TYPE_URLS[name], 'coarse')] as const);
  const { sequence } = source;
  return (function* () {
    yield `{\n"proxy": ${JSON.stringify(node.id)},\n"sequence": ${sequence}`;
    for (const [name, set] of sets) {
      yield `,\n"${name}": {\n"version": ${JSON.stringify(set.version)},\n"resources": `;
      yield* listed(decoded(set));
      yield '}';
    }
    yield '\n}\n';
  })();
}

export function dumpResources(source: ConfigSource, node: ProxyNode, typeUrl: TypeUrl): Iterable<unknown> {
  return decoded(source.resources(node, typeUrl, 'coarse'));
}

function* decoded({ resources }: ReturnType<ConfigSource['resources']>): Generator<unknown> {
  for (const { any } of resources.values()) yield withoutKeys(decodeResource(any));
}

/** A key set may hold symmetric keys. */
function withoutKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, name === 'localJwks' ? '[redacted]' : withoutKeys(field)]),
  );
}
