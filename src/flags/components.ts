/** The components of the executable, with their subcommands; a test holds it against src/commands. */
export interface Component {
  readonly summary: string;
  readonly subcommands: readonly string[];
}

export const COMPONENTS: Readonly<Record<string, Component>> = {
  'pilot-agent': {
    summary: 'run the local proxy and give it configuration, keys and certificates',
    subcommands: ['debug', 'proxy', 'version'],
  },
  'pilot-discovery': {
    summary: 'turn services and policies into proxy configuration and serve it',
    subcommands: ['discovery', 'version'],
  },
  'sidecar-injector': {
    summary: 'webhook that adds the sidecar to new pods',
    subcommands: ['probe', 'version'],
  },
  mesh_ca: {
    summary: 'certificate authority that issues workload certificates',
    subcommands: ['probe', 'version'],
  },
  mixs: {
    summary: 'policy checks, quota and telemetry, between proxies and infrastructure back ends',
    subcommands: ['crd', 'probe', 'server', 'version'],
  },
  meshctl: {
    summary: 'create, replace, list and explain policies and other objects',
    subcommands: [
      'analyze',
      'apply',
      'create',
      'delete',
      'explain',
      'get',
      'inject',
      'install',
      'proxy-config',
      'proxy-status',
      'replace',
      'tls-check',
      'uninstall',
      'version',
    ],
  },
  'mesh-init': {
    summary: 'redirect the traffic of a network namespace to its sidecar',
    subcommands: ['version'],
  },
  lab: {
    summary: 'run a whole mesh on this machine, without containers',
    subcommands: ['apply', 'daemon', 'demo', 'down', 'env', 'exec', 'image', 'logs', 'status', 'up', 'uplink', 'version'],
  },
};
