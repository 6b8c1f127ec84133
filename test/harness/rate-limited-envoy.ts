/** A real Envoy with a bootstrap of its operator's own: its rate limit filter asks mixs, and a second listener of it is the application. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { envoyPath } from '../../src/lib/envoy-path.ts';
import { freePort } from './free-port.ts';
import { get } from './plain-envoy.ts';

const TYPE = 'type.googleapis.com/envoy.extensions';

export class RateLimitedEnvoy {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, port: number) {
    this.#process = process;
    this.url = `http://127.0.0.1:${port}/`;
  }

  /** `domain` is what it asks of; requests are told apart by the client's address and the header `x-user`. Resolves when it serves. */
  static async start(mixsPort: number, domain: string): Promise<RateLimitedEnvoy> {
    const [port, adminPort, applicationPort] = [await freePort(), await freePort(), await freePort()];
    const config = JSON.stringify(bootstrap({ port, adminPort, applicationPort, mixsPort }, domain));
    const args = ['--config-yaml', config, '--disable-hot-restart', '--concurrency', '1', '-l', 'error'];
    const child = spawn(envoyPath(process.env), args, { stdio: 'ignore' });
    while ((await get(adminPort, '/ready')).trim() !== 'LIVE') {
      if (child.exitCode !== null) throw new Error(`Envoy ended with ${child.exitCode}`);
      await sleep(20);
    }
    return new RateLimitedEnvoy(child, port);
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exited;
  }
}

const ANSWER = { match: { prefix: '/' }, direct_response: { status: 200 } };

const address = (port: number): object => ({ socket_address: { address: '127.0.0.1', port_value: port } });

interface Ports {
  readonly port: number;
  readonly adminPort: number;
  readonly applicationPort: number;
  readonly mixsPort: number;
}

function bootstrap({ port, adminPort, applicationPort, mixsPort }: Ports, domain: string): object {
  const http2 = {
    '@type': `${TYPE}.upstreams.http.v3.HttpProtocolOptions`,
    explicit_http_config: { http2_protocol_options: {} },
  };
  return {
    admin: { address: address(adminPort) },
    static_resources: {
      listeners: [
        listener('public', port, limited(domain)),
        listener('application', applicationPort, { filters: [], host: { routes: [ANSWER] } }),
      ],
      clusters: [
        cluster('application', applicationPort),
        {
          ...cluster('mixs', mixsPort),
          typed_extension_protocol_options: { 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': http2 },
        },
      ],
    },
  };
}

const cluster = (name: string, port: number): object => ({
  name,
  load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address: address(port) } }] }] },
});

/** Filters of a virtual host and its routes. */
interface Hosted {
  readonly filters: readonly object[];
  readonly host: object;
}

function limited(domain: string): Hosted {
  const rateLimit = {
    '@type': `${TYPE}.filters.http.ratelimit.v3.RateLimit`,
    domain,
    failure_mode_deny: true,
    timeout: '5s',
    rate_limit_service: { transport_api_version: 'V3', grpc_service: { envoy_grpc: { cluster_name: 'mixs' } } },
  };
  const actions = [{ remote_address: {} }, { request_headers: { header_name: 'x-user', descriptor_key: 'user' } }];
  const routes = [{ match: { prefix: '/' }, route: { cluster: 'application' } }];
  return {
    filters: [{ name: 'envoy.filters.http.ratelimit', typed_config: rateLimit }],
    host: { routes, rate_limits: [{ actions }] },
  };
}

function listener(name: string, port: number, { filters, host }: Hosted): object {
  const router = { name: 'envoy.filters.http.router', typed_config: { '@type': `${TYPE}.filters.http.router.v3.Router` } };
  const manager = {
    '@type': `${TYPE}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: name,
    route_config: { virtual_hosts: [{ name, domains: ['*'], ...host }] },
    http_filters: [...filters, router],
  };
  const filter = { name: 'envoy.filters.network.http_connection_manager', typed_config: manager };
  return { name, address: address(port), filter_chains: [{ filters: [filter] }] };
}
