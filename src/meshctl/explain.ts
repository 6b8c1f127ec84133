import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import { suggestion } from '../lib/nearest.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import { parseMeshConfig } from '../model/parse/mesh-config.ts';
import { DEFAULT_NAMESPACE } from '../model/parse/object.ts';
import { describeService, type Service } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { type Explanation, explain } from '../policy/explain.ts';
import type { explainFlags } from './flags.ts';
import { warn, warnOfStoreProblems, withStore } from './session.ts';
import { snapshotOf } from './store-snapshot.ts';

/** `meshctl explain SERVICE[.NS] [PORT]`: what a service requires of its callers, and which object decided it. */
export function runExplain({ options, args }: Invocation<typeof explainFlags>, host: Host): Promise<number> {
  const [name = '', port] = args;
  return withStore(options.orchconfig, host, async (store) => {
    const mesh = options.meshConfig === '' ? {} : { mesh: await readMeshConfig(options.meshConfig, host.cwd) };
    const onProblem = (message: string): void => warn(host, message);
    const snapshot = await snapshotOf(store, { names: host.names, domain: options.domain, onProblem, ...mesh });
    warnOfStoreProblems(store, host);
    const service = findService(snapshot, name, options.namespace);
    const explanations = explain(snapshot, service, port === undefined ? undefined : findPort(service, port));
    host.stdout.write(
      options.output === 'json' ? `${JSON.stringify(explanations, null, 4)}\n` : explanations.map(print).join('\n'),
    );
    return 0;
  });
}

async function readMeshConfig(file: string, cwd: string): Promise<MeshConfig> {
  const text = await readFile(resolve(cwd, file), 'utf8').catch((error: unknown) => {
    throw new MeshError('invalid', `--meshConfig: ${file} cannot be read: ${MeshError.from(error).message}`, error);
  });
  const parsed = parseMeshConfig(text, file);
  if (parsed.ok) return parsed.value;
  throw new MeshError('invalid', `--meshConfig: ${parsed.problems.map(formatProblem).join('; ')}`);
}

/** Takes `httpbin`, `httpbin.foo` and the full host name. */
function findService(snapshot: Snapshot, word: string, namespace: string): Service {
  const [name = '', ownNamespace] = word.endsWith(`.svc.${snapshot.domain}`)
    ? word.slice(0, -`.svc.${snapshot.domain}`.length).split('.')
    : word.split('.');
  if (namespace !== '' && ownNamespace !== undefined && namespace !== ownNamespace) {
    throw new MeshError('usage', `${word} names namespace "${ownNamespace}", -n names "${namespace}"; give one of them`);
  }
  const wanted = { name, namespace: ownNamespace ?? (namespace || DEFAULT_NAMESPACE) };
  const found = snapshot.services.find((service) => service.name === wanted.name && service.namespace === wanted.namespace);
  if (found !== undefined) return found;
  const known = snapshot.services.map(describeService);
  throw new MeshError(
    'not_found',
    `service ${wanted.name}.${wanted.namespace} does not exist${suggestion(`${wanted.name}.${wanted.namespace}`, known)}`,
  );
}

function findPort(service: Service, word: string): number {
  const found = service.ports.find((port) => port.name === word || String(port.number) === word);
  if (found !== undefined) return found.number;
  const known = service.ports.map((port) => (port.name === '' ? String(port.number) : `${port.number} (${port.name})`));
  throw new MeshError('not_found', `${describeService(service)} has no port ${word}; it has ${known.join(', ') || 'none'}`);
}

function print(explanation: Explanation): string {
  const { port, labels, decidedBy } = explanation;
  const name = port.name === '' ? port.protocol : `${port.name}, ${port.protocol}`;
  const some =
    labels === undefined
      ? ''
      : ` (workloads with ${Object.entries(labels)
          .map(([key, value]) => `${key}=${value}`)
          .join(',')})`;
  const lines = [
    `${explanation.service} port ${port.number} (${name})${some}`,
    ...explanation.effects.map((effect) => `  ${effect}`),
    `  principal: ${explanation.principalBinding === 'USE_ORIGIN' ? 'the end user (USE_ORIGIN)' : 'the calling workload (USE_PEER)'}`,
    `  decided by ${decidedBy.object}: ${decidedBy.reason}`,
    ...explanation.overruled.map(({ object, reason }) => `  overruled: ${object}: ${reason}`),
    ...explanation.warnings.map((warning) => `  warning: ${warning}`),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
