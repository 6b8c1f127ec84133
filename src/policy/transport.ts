import { isProxied } from '../model/protocol.ts';
import type { Service } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { type Workload, workloadKey } from '../model/workload.ts';
import type { Labels } from './claims.ts';
import type { Decision } from './decision.ts';
import { describeDecider } from './describe.ts';
import { resolveAuthn } from './resolve.ts';

/** What a port takes: `HTTP` stands for plaintext, whatever is spoken in it. */
export type ServerTransport = 'mTLS' | 'HTTP' | 'HTTP/mTLS';
/** What its callers send; `-`: there is nobody to send to. */
export type ClientTransport = 'mTLS' | 'HTTP' | '-';

/** What one port takes and what its callers send: a row of `tls-check`. */
export interface TransportCheck {
  readonly host: string;
  readonly port: number;
  /** `CONFLICT`: calls fail, or go unprotected where the policy asks for mutual TLS. */
  readonly status: 'OK' | 'CONFLICT';
  readonly server: ServerTransport;
  readonly client: ClientTransport;
  /** The object that decided: `Policy foo/default`, `mesh configuration`. */
  readonly policy: string;
  /** Why it is a conflict. */
  readonly reason: string | undefined;
}

/**
 * What every proxied port of a service takes and its callers send. Callers with a sidecar use mutual TLS to every pod that has one and
 * plaintext to the others; those without, plaintext always. Of pods that differ, each kind has a row.
 */
export function checkTransport(snapshot: Snapshot, service: Service, callerHasSidecar: boolean): readonly TransportCheck[] {
  const pods = podsOf(snapshot, service);
  return service.ports
    .filter(({ protocol }) => isProxied(protocol))
    .flatMap((port) => {
      const place = { host: service.hostname, port: port.number };
      const decide = (labels: Labels): Decision => resolveAuthn(snapshot, service, port, labels);
      if (pods.length === 0) return [{ ...place, ...withoutPods(decide(undefined)) }];
      return distinct(pods.map((pod) => ({ ...place, ...judge(decide(pod.labels), pod.hasSidecar, callerHasSidecar) })));
    });
}

/** Its workloads, and what stands behind it that is none: an address outside the mesh has no sidecar. */
function podsOf(snapshot: Snapshot, service: Service): readonly Pick<Workload, 'labels' | 'hasSidecar'>[] {
  const workloads = snapshot.workloadsByService.get(service.hostname) ?? [];
  const known = new Set(workloads.map(workloadKey));
  const others = (snapshot.endpoints.get(service.hostname) ?? [])
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ workload }) => workload === undefined || !known.has(workloadKey(workload)))
    .map(({ workload }) => workload ?? { labels: {}, hasSidecar: false });
  return [...workloads, ...others];
}

type Judgement = Omit<TransportCheck, 'host' | 'port'>;

function withoutPods(decision: Decision): Judgement {
  return { status: 'OK', server: takenBySidecar(decision), client: '-', policy: describeDecider(decision), reason: undefined };
}

function judge(decision: Decision, hasSidecar: boolean, callerHasSidecar: boolean): Judgement {
  const server = hasSidecar ? takenBySidecar(decision) : 'HTTP';
  const client = hasSidecar && callerHasSidecar ? 'mTLS' : 'HTTP';
  const policy = describeDecider(decision);
  const reason = conflictOf(decision, hasSidecar, client);
  return { status: reason === undefined ? 'OK' : 'CONFLICT', server, client, policy, reason };
}

function conflictOf(decision: Decision, hasSidecar: boolean, client: ClientTransport): string | undefined {
  if (decision.mutualTls !== 'REQUIRED') return undefined;
  if (!hasSidecar) return 'mutual TLS is required, but the pods have no sidecar that could ask for it';
  return client === 'HTTP' ? 'mutual TLS is required, and the caller has no sidecar: its connections are reset' : undefined;
}

function takenBySidecar(decision: Decision): ServerTransport {
  return decision.mutualTls === 'REQUIRED' ? 'mTLS' : 'HTTP/mTLS';
}

function distinct(rows: readonly TransportCheck[]): readonly TransportCheck[] {
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()];
}
