/** The namespace of the control plane and what its components are configured with. */
import { parseInjectionConfig } from '../../injection/config.ts';
import { DEFAULT_INJECTION_CONFIG } from '../../injection/default-config.ts';
import type { KubeObject } from '../../model/object.ts';
import { printYaml } from '../../model/parse/yaml.ts';
import { INJECTION_CONFIG, type InstallOptions, MESH_CONFIG } from './options.ts';

const MESH_CONFIG_TEXT = `\
# Mutual TLS for all proxies: uncomment the next line.
#authPolicy: MUTUAL_TLS

# The trust domain of all identities: spiffe://<trust domain>/ns/<namespace>/sa/<service account>
trustDomain: cluster.local

# Destinations that are no service of the mesh: REGISTRY_ONLY blocks them, ALLOW_ANY lets them through.
outboundTrafficPolicy: REGISTRY_ONLY
`;

export function configurationObjects({ namespace }: InstallOptions): readonly KubeObject[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: { 'mesh-injection': 'disabled' } } },
    configMap(namespace, MESH_CONFIG, MESH_CONFIG_TEXT),
    configMap(namespace, INJECTION_CONFIG, injectionConfig(namespace)),
  ];
}

function configMap(namespace: string, { map, key }: { readonly map: string; readonly key: string }, text: string): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: map, namespace }, data: { [key]: text } };
}

/** The built-in configuration, with the control plane's addresses in its namespace. */
function injectionConfig(namespace: string): string {
  const parsed = parseInjectionConfig(DEFAULT_INJECTION_CONFIG);
  if (!parsed.ok) throw new Error('the built-in injection configuration is invalid');
  const moved = (address: string): string => address.replace(/^([^.:]+)\.[^.:]+:/, `$1.${namespace}:`);
  const { discoveryAddress, caAddress } = parsed.value.values;
  const values = { ...parsed.value.values, discoveryAddress: moved(discoveryAddress), caAddress: moved(caAddress) };
  return printYaml({ ...parsed.value, values });
}
