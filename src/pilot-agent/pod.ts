import { isIP } from 'node:net';
import type { OptionsOf } from '../flags/table.ts';
import type { Problem } from '../lib/errors.ts';
import { isSpiffeId } from '../lib/spiffe.ts';
import type { ProxyFlags } from './flags.ts';

/** Who the workload is, as far as the agent knows: the certificate must say the same. */
export interface WorkloadIdentity {
  /** Undefined: the certificate authority's choice is taken. */
  readonly trustDomain: string | undefined;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** What the node tells discovery about itself. */
export type NodeMetadata = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

export type Environment = Readonly<Record<string, string | undefined>>;

const META_PREFIX = 'MESH_META_';

/** What flags and environment say about the pod that the agent runs in. */
export interface Pod {
  readonly id: string;
  readonly domain: string;
  readonly addresses: readonly string[];
  readonly identity: WorkloadIdentity;
  readonly metadata: NodeMetadata;
}

/** Adds to `problems` what keeps the pod from being known. */
export function resolvePod(options: OptionsOf<ProxyFlags>, env: Environment, problems: Problem[]): Pod {
  const { POD_NAME: name = '', POD_NAMESPACE: fromEnv = '' } = env;
  const id = options.id || (name !== '' && fromEnv !== '' ? `${name}.${fromEnv}` : '');
  if (id === '') problems.push({ path: '--id', message: 'is empty and POD_NAME or POD_NAMESPACE is not set' });
  const namespace = fromEnv || id.slice(id.lastIndexOf('.') + 1);
  const serviceAccount = env['SERVICE_ACCOUNT'] || 'default';
  const trustDomain = env['TRUST_DOMAIN'] || undefined;
  if (id !== '' && !isSpiffeId({ trustDomain: trustDomain ?? 'any', namespace, serviceAccount })) {
    const shown = JSON.stringify({ TRUST_DOMAIN: trustDomain, POD_NAMESPACE: namespace, SERVICE_ACCOUNT: serviceAccount });
    problems.push({ path: 'environment', message: `${shown} does not name an identity` });
  }
  if (/[~\s]/.test(id + options.domain))
    problems.push({ path: '--id', message: `neither it nor --domain may contain "~" or blanks` });
  const addresses = resolveAddresses(options.ip, env, problems);
  return {
    id,
    domain: options.domain || `${namespace}.svc.cluster.local`,
    addresses,
    identity: { trustDomain, namespace, serviceAccount },
    metadata: {
      ...givenMetadata(env),
      NAMESPACE: namespace,
      POD_NAME: name || id.slice(0, Math.max(0, id.lastIndexOf('.'))),
      SERVICE_ACCOUNT: serviceAccount,
      INSTANCE_IPS: addresses.join(','),
    },
  };
}

function resolveAddresses(flag: string, env: Environment, problems: Problem[]): readonly string[] {
  const first = flag || env['INSTANCE_IP'] || '';
  if (first === '') problems.push({ path: '--ip', message: 'is empty and INSTANCE_IP is not set' });
  const others = (env['INSTANCE_IPS'] ?? '').split(',').map((text) => text.trim());
  const addresses = [...new Set([first, ...others])].filter((text) => text !== '');
  for (const address of addresses) {
    if (isIP(address) === 0)
      problems.push({ path: '--ip', message: `"${address}" (or INSTANCE_IP, INSTANCE_IPS) is not an IP address` });
  }
  return addresses;
}

/** What `MESH_META_*` gives; what the agent knows itself is not overridden by it. */
function givenMetadata(env: Environment): Readonly<Record<string, string>> {
  const entries = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    name.startsWith(META_PREFIX) && value !== undefined ? [[name.slice(META_PREFIX.length), value]] : [],
  );
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
