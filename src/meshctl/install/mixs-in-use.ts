/** Whether sidecars call mixs, as the mesh configuration in the cluster has it, which may be the user's. */
import { MeshError } from '../../lib/errors.ts';
import type { MeshConfig } from '../../model/mesh-config.ts';
import { parseMeshConfig } from '../../model/parse/mesh-config.ts';
import { asFields } from '../../sources/store/kubernetes/received.ts';
import { getObject } from './apply-object.ts';
import { CONFIG_MAP } from './installed-kinds.ts';
import type { ClusterScope } from './leftovers.ts';
import { POLICY_SERVICE, TELEMETRY_SERVICE } from './mixs.ts';
import { MESH_CONFIG } from './options.ts';
import { isEdited } from './ownership.ts';

type Scope = Pick<ClusterScope, 'client' | 'namespace' | 'signal'>;

/**
 * For an installation without mixs, before it changes anything. A configuration that nobody has edited comes with the installation and
 * names mixs no longer.
 *
 * @throws MeshError `invalid` where sidecars would go on calling what is removed
 */
export async function requireMixsUnused(scope: Scope): Promise<void> {
  const stored = await meshConfigMap(scope);
  const called = calledServices(stored, scope.namespace);
  if (called.length === 0 || !isEdited(stored)) return;
  throw new MeshError(
    'invalid',
    `--mixs none: the mesh configuration has been edited, so it is left as it is, and has sidecars call ${called.join(' and ')}: ` +
      `take mixerCheckServer and mixerReportServer out of ConfigMap ${scope.namespace}/${MESH_CONFIG.map} first`,
  );
}

/** Whether sidecars would refuse everything if mixs were gone. */
export async function isMixsAsked(scope: Scope): Promise<boolean> {
  return calledServices(await meshConfigMap(scope), scope.namespace).includes(POLICY_SERVICE);
}

function meshConfigMap({ client, namespace, signal }: Scope): Promise<unknown> {
  return getObject(client, { kind: CONFIG_MAP, namespace, name: MESH_CONFIG.map }, signal);
}

/** A configuration that is wrong names nobody: components keep the last good one, which is not known here. */
function calledServices(configMap: unknown, namespace: string): readonly string[] {
  const parsed = parseMeshConfig(asFields(asFields(configMap)['data'])[MESH_CONFIG.key]);
  if (!parsed.ok) return [];
  const hosts = calledHosts(parsed.value);
  return [POLICY_SERVICE, TELEMETRY_SERVICE].filter((name) => hosts.some((host) => host.startsWith(`${name}.${namespace}.`)));
}

function calledHosts({ mixerCheckServer, disablePolicyChecks, policyCheckFailOpen, mixerReportServer }: MeshConfig) {
  const isAsked = !disablePolicyChecks && !policyCheckFailOpen;
  return [isAsked ? mixerCheckServer : undefined, mixerReportServer].flatMap((server) =>
    server === undefined ? [] : [server.host],
  );
}
