import { createHash } from 'node:crypto';
import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { MeshError } from '../lib/errors.ts';
import { suggestion } from '../lib/nearest.ts';
import { describeService, type Service } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { Workload } from '../model/workload.ts';
import { checkTransport } from '../policy/transport.ts';
import { loadMesh } from './analyze/load.ts';
import { meshState } from './analyze/mesh-state.ts';
import { findPod, parseTarget, requirePod } from './find-pod.ts';
import { warn } from './session.ts';
import type { tlsCheckFlags } from './tls-check/flags.ts';
import { printChecks } from './tls-check/report.ts';

/** `meshctl tls-check [POD|SERVICE] [SERVICE]`: what ports take and what their callers, or one of them, send. */
export async function runTlsCheck({ options, args }: Invocation<typeof tlsCheckFlags>, host: Host): Promise<number> {
  const { orchconfig, filename: filenames, namespace, meshNamespace: rootNamespace, domain, output } = options;
  const loaded = await loadMesh({ orchconfig, filenames, namespace }, host);
  for (const note of loaded.notes) warn(host, note);
  const { snapshot } = meshState(loaded.merged, {
    names: host.names,
    rootNamespace,
    domain,
    now: host.now(),
    hash: (text) => createHash('sha256').update(text).digest('hex'),
    templates: loaded.templates,
  });
  const { client, services } = choose(snapshot, args, namespace);
  if (client !== undefined && output === 'table')
    warn(host, `calls of pod ${client.name}.${client.namespace}, which has ${client.hasSidecar ? 'a' : 'no'} sidecar`);
  const rows = services.flatMap((service) => checkTransport(snapshot, service, client?.hasSidecar ?? true));
  host.stdout.write(printChecks(rows, output));
  return 0;
}

interface Choice {
  /** Whose calls; undefined: those of pods with a sidecar. */
  readonly client: Workload | undefined;
  readonly services: readonly Service[];
}

/** The first word is a service if there is one of that name, else the calling pod. Throws `not_found`. */
function choose(snapshot: Snapshot, [first, second]: readonly string[], namespace: string): Choice {
  const proxied = snapshot.services.filter(({ ports }) => ports.length > 0);
  const own = namespace === '' ? proxied : proxied.filter((service) => service.namespace === namespace);
  if (first === undefined) return { client: undefined, services: own };
  const firstTarget = parseTarget(withoutDomain(first, snapshot), namespace);
  if (second !== undefined) {
    return { client: requirePod(snapshot.workloads, firstTarget), services: [requireService(snapshot, second, namespace)] };
  }
  const service = find(snapshot, firstTarget);
  if (service !== undefined) return { client: undefined, services: [service] };
  const client = findPod(snapshot.workloads, firstTarget);
  if (client !== undefined) return { client, services: proxied };
  throw notFound(snapshot, firstTarget);
}

function requireService(snapshot: Snapshot, word: string, namespace: string): Service {
  const target = parseTarget(withoutDomain(word, snapshot), namespace);
  const found = find(snapshot, target);
  if (found === undefined) throw notFound(snapshot, target);
  return found;
}

function find(
  snapshot: Snapshot,
  { name, namespace }: { readonly name: string; readonly namespace: string },
): Service | undefined {
  return snapshot.servicesByHostname.get(`${name}.${namespace}.svc.${snapshot.domain}`);
}

function notFound(snapshot: Snapshot, { name, namespace }: { readonly name: string; readonly namespace: string }): MeshError {
  const known = [...snapshot.services.map(describeService), ...snapshot.workloads.map((pod) => `${pod.name}.${pod.namespace}`)];
  const word = `${name}.${namespace}`;
  return new MeshError('not_found', `there is no service and no pod ${word}${suggestion(word, known)}`);
}

function withoutDomain(word: string, { domain }: Snapshot): string {
  return word.endsWith(`.svc.${domain}`) ? word.slice(0, -`.svc.${domain}`.length) : word;
}
