import type { Cell } from './cells.ts';
import { CLIENT, hasSidecar, hostOf, SERVICES, SIDECAR_NAMESPACES } from './topology.ts';

/** Counts of connections, since the proxy started. */
export interface ConnectionCounts {
  readonly connections: number;
  /** Those that completed a TLS handshake. */
  readonly handshakes: number;
}

/** What one sidecar's statistics say. */
export interface SidecarCounts {
  readonly inbound: ConnectionCounts;
  /** Host and port of a service of the mesh (`httpbin.foo:8000`) -> connections of the sidecar to it. */
  readonly outbound: ReadonlyMap<string, ConnectionCounts & { readonly requests: number }>;
}

/** Workload (`sleep.foo`) -> counts. */
export type MeshCounts = ReadonlyMap<string, SidecarCounts>;

/** Workloads of the scenario that have a sidecar. */
export const SIDECARS: readonly string[] = SIDECAR_NAMESPACES.flatMap((namespace) =>
  [CLIENT, ...SERVICES.map(({ service }) => service)].map((name) => `${name}.${namespace}`),
);

/** Filter of Envoy's /stats for what `parseCounts` reads. */
export const STATS_FILTER =
  '^(listener\\.0\\.0\\.0\\.0_15006\\.(downstream_cx_total|ssl\\.handshake)|cluster\\.outbound.*\\.(upstream_cx_total|upstream_cx_connect_fail|upstream_rq_total|ssl\\.handshake))$';

/** Reads the text of Envoy's /stats. */
export function parseCounts(text: string): SidecarCounts {
  const values = new Map(
    text.split('\n').flatMap((line): [string, number][] => {
      const match = /^(.+): (\d+)$/.exec(line);
      return match === null ? [] : [[match[1] ?? '', Number(match[2])]];
    }),
  );
  const outbound = new Map<string, ConnectionCounts & { requests: number }>();
  for (const [name, requests] of values) {
    const [, cluster, port, host] =
      /^(cluster\.outbound\|(\d+)\|\|(.+)\.svc\.cluster\.local)\.upstream_rq_total$/.exec(name) ?? [];
    if (cluster === undefined) continue;
    const failed = values.get(`${cluster}.upstream_cx_connect_fail`) ?? 0;
    const connections = (values.get(`${cluster}.upstream_cx_total`) ?? 0) - failed;
    outbound.set(`${host}:${port}`, { requests, connections, handshakes: values.get(`${cluster}.ssl.handshake`) ?? 0 });
  }
  return {
    inbound: {
      connections: values.get('listener.0.0.0.0_15006.downstream_cx_total') ?? 0,
      handshakes: values.get('listener.0.0.0.0_15006.ssl.handshake') ?? 0,
    },
    outbound,
  };
}

/** How the calls between sidecars went, by the proxies' own counts. */
export interface MutualTlsProof {
  /** Requests that sidecars sent each other in this step. */
  readonly requests: number;
  /** Connections that sidecars have made to each other so far; every one must have had a TLS handshake. */
  readonly connections: number;
  readonly handshakes: number;
  /** Plaintext connections that sidecars took in this step; there must be one for each answered call of a client without one. */
  readonly plaintext: number;
  readonly plaintextExpected: number;
  readonly problems: readonly string[];
}

/** Whether no connection to a sidecar is in the making. */
export function isSettled(counts: MeshCounts): boolean {
  const isInMesh = (host: string): boolean => SIDECARS.some((workload) => host.startsWith(`${workload}:`));
  return [...counts.values()].every(({ outbound }) =>
    [...outbound].every(([host, { connections, handshakes }]) => !isInMesh(host) || connections === handshakes),
  );
}

/** Judges the counts from before and after the calls of a step. */
export function proveMutualTls(before: MeshCounts, after: MeshCounts, cells: readonly Cell[]): MutualTlsProof {
  const problems: string[] = [];
  const sum = { requests: 0, connections: 0, handshakes: 0, plaintext: 0, plaintextExpected: 0 };
  for (const workload of SIDECARS) {
    const [earlier, later] = [before.get(workload), after.get(workload)];
    if (earlier === undefined || later === undefined) {
      problems.push(`the statistics of ${workload} are missing`);
      continue;
    }
    const plaintext = plaintextOf(later.inbound) - plaintextOf(earlier.inbound);
    const expected = cells.filter((cell) => isAnsweredPlaintext(cell, workload)).length;
    if (plaintext !== expected) problems.push(`${workload} took ${plaintext} plaintext connections instead of ${expected}`);
    sum.plaintext += plaintext;
    sum.plaintextExpected += expected;
  }
  for (const [workload, host] of sidecarPairs(cells)) {
    const [earlier, later] = [before.get(workload)?.outbound.get(host), after.get(workload)?.outbound.get(host)];
    const requests = (later?.requests ?? 0) - (earlier?.requests ?? 0);
    if (later === undefined || requests <= 0) problems.push(`${workload} sent no request to ${host} through its sidecar`);
    if (later !== undefined && later.connections !== later.handshakes) {
      problems.push(`of ${later.connections} connections of ${workload} to ${host} only ${later.handshakes} had a TLS handshake`);
    }
    sum.requests += requests;
    sum.connections += later?.connections ?? 0;
    sum.handshakes += later?.handshakes ?? 0;
  }
  return { ...sum, problems };
}

function plaintextOf({ connections, handshakes }: ConnectionCounts): number {
  return connections - handshakes;
}

function isAnsweredPlaintext({ client, target, got }: Cell, workload: string): boolean {
  return !hasSidecar(client) && hostOf(target) === workload && got.status !== 0;
}

/** Client and server address of every call between sidecars, once. */
function sidecarPairs(cells: readonly Cell[]): readonly (readonly [workload: string, host: string])[] {
  const between = cells.filter(({ client, target }) => hasSidecar(client) && hasSidecar(target.namespace));
  const pairs = between.map(({ client, target }) => [`${CLIENT}.${client}`, `${hostOf(target)}:${target.port}`] as const);
  return [...new Map(pairs.map((pair) => [pair.join(' '), pair])).values()];
}
