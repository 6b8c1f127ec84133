/** A bootstrap of a user's own: a listener that passes everything on, and marks answers with the configuration they came by. */
export function plainBootstrap(settings: {
  readonly version: string;
  readonly port: number;
  readonly adminPort: number;
  readonly upstreamPort: number;
}): string {
  const type = 'type.googleapis.com/envoy.extensions.filters';
  const address = (port: number) => ({ socket_address: { address: '127.0.0.1', port_value: port } });
  const bootstrap = {
    admin: { address: address(settings.adminPort) },
    static_resources: {
      clusters: [
        {
          name: 'application',
          load_assignment: {
            cluster_name: 'application',
            endpoints: [{ lb_endpoints: [{ endpoint: { address: address(settings.upstreamPort) } }] }],
          },
        },
      ],
      listeners: [
        {
          name: 'inbound',
          address: address(settings.port),
          filter_chains: [
            {
              filters: [
                {
                  name: 'envoy.filters.network.http_connection_manager',
                  typed_config: {
                    '@type': `${type}.network.http_connection_manager.v3.HttpConnectionManager`,
                    stat_prefix: 'inbound',
                    drain_timeout: '0.1s',
                    route_config: {
                      response_headers_to_add: [{ header: { key: 'x-configuration', value: settings.version } }],
                      virtual_hosts: [
                        {
                          name: 'all',
                          domains: ['*'],
                          routes: [{ match: { prefix: '/' }, route: { cluster: 'application', timeout: '0s' } }],
                        },
                      ],
                    },
                    http_filters: [
                      {
                        name: 'envoy.filters.http.router',
                        typed_config: { '@type': `${type}.http.router.v3.Router` },
                      },
                    ],
                  },
                },
              ],
            },
          ],
        },
      ],
    },
  };
  return `${JSON.stringify(bootstrap, null, 2)}\n`;
}
