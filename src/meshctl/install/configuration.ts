/** The namespace of the control plane and what its components are configured with. */
import { parseInjectionConfig } from '../../injection/config.ts';
import { DEFAULT_INJECTION_CONFIG } from '../../injection/default-config.ts';
import { serverFlags } from '../../mixs/flags.ts';
import type { KubeObject } from '../../model/object.ts';
import { printYaml } from '../../model/parse/yaml.ts';
import { POLICY_SERVICE, TELEMETRY_SERVICE } from './mixs.ts';
import { INJECTION_CONFIG, type InstallOptions, MESH_CONFIG } from './options.ts';

const MESH_CONFIG_TEXT = `\
# Mutual TLS for all proxies: uncomment the next line.
#authPolicy: MUTUAL_TLS

# The trust domain of all identities: spiffe://<trust domain>/ns/<namespace>/sa/<service account>
trustDomain: cluster.local

# Destinations that are no service of the mesh: REGISTRY_ONLY blocks them, ALLOW_ANY lets them through.
outboundTrafficPolicy: REGISTRY_ONLY
`;

export function configurationObjects(options: InstallOptions): readonly KubeObject[] {
  const { namespace } = options;
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: { 'mesh-injection': 'disabled' } } },
    configMap(namespace, MESH_CONFIG, `${MESH_CONFIG_TEXT}\n${mixsText(options)}`),
    configMap(namespace, INJECTION_CONFIG, injectionConfig(namespace)),
  ];
}

function configMap(namespace: string, { map, key }: { readonly map: string; readonly key: string }, text: string): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: map, namespace }, data: { [key]: text } };
}

/** What sidecars have to do with mixs. Commented out where it is not installed: a server that is not there refuses everything. */
function mixsText({ namespace, mixs }: InstallOptions): string {
  const address = (service: string): string => `${service}.${namespace}.svc.cluster.local:${serverFlags.port.default}`;
  const unless = mixs === 'none' ? '#' : '';
  const where = mixs === 'none' ? ' It is not installed: "meshctl install --mixs telemetry" does that.' : '';
  return `\
# Sidecars tell mixs of every request and connection, for metrics and logs.${where}
${unless}mixerReportServer: ${address(TELEMETRY_SERVICE)}

# Sidecars ask mixs about every request and connection before they let it in, unless that is disabled. While mixs cannot be asked
# everything is refused, or with policyCheckFailOpen: true let in.
${unless}mixerCheckServer: ${address(POLICY_SERVICE)}
${unless}disablePolicyChecks: ${mixs !== 'all'}
`;
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
