/** An Envoy with nothing but a connection to a discovery server on loopback. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { envoyPath } from '../../src/lib/envoy-path.ts';
import { freePort } from './free-port.ts';

/** A proxy of a given node whose link to the discovery server is mutual TLS. */
export interface SecuredLink {
  readonly node: string;
  readonly keyPem: string;
  readonly chainPem: string;
  readonly rootPem: string;
  /** The only identity that the server may have. */
  readonly serverId: string;
}

export class PlainEnvoy {
  readonly #process: ChildProcess;
  readonly #adminPort: number;
  readonly #output: Buffer[] = [];

  private constructor(process: ChildProcess, adminPort: number) {
    this.#process = process;
    this.#adminPort = adminPort;
    process.stderr?.on('data', (chunk: Buffer) => this.#output.push(chunk));
  }

  static async start(xdsPort: number, apiType: 'GRPC' | 'DELTA_GRPC', secured?: SecuredLink): Promise<PlainEnvoy> {
    const adminPort = await freePort();
    const config = JSON.stringify(bootstrap(xdsPort, adminPort, apiType, secured));
    const args = ['--config-yaml', config, '--disable-hot-restart', '--concurrency', '1', '-l', 'warning'];
    return new PlainEnvoy(spawn(envoyPath(process.env), args, { stdio: ['ignore', 'ignore', 'pipe'] }), adminPort);
  }

  get output(): string {
    return Buffer.concat(this.#output).toString();
  }

  /** The answer of the administration page; empty while it does not answer. */
  admin(path: string): Promise<string> {
    return get(this.#adminPort, path);
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exited;
  }
}

/** The body that an HTTP server on loopback answers with; empty while it does not answer well. */
export async function get(port: number, path: string): Promise<string> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return response.ok ? await response.text() : '';
  } catch {
    return '';
  }
}

function address(port: number): object {
  return { socket_address: { address: '127.0.0.1', port_value: port } };
}

function tlsSocket({ keyPem, chainPem, rootPem, serverId }: SecuredLink): object {
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      common_tls_context: {
        alpn_protocols: ['h2'],
        tls_certificates: [{ private_key: { inline_string: keyPem }, certificate_chain: { inline_string: chainPem } }],
        validation_context: {
          trusted_ca: { inline_string: rootPem },
          match_typed_subject_alt_names: [{ san_type: 'URI', matcher: { exact: serverId } }],
        },
      },
    },
  };
}

function bootstrap(xdsPort: number, adminPort: number, apiType: string, secured: SecuredLink | undefined): object {
  const ads = { ads: {}, resource_api_version: 'V3' };
  const http2 = {
    '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
    explicit_http_config: { http2_protocol_options: {} },
  };
  return {
    node: { id: secured?.node ?? 'sidecar~127.0.0.1~plain.test~test.svc.cluster.local', cluster: 'plain' },
    admin: { address: address(adminPort) },
    dynamic_resources: {
      ads_config: { api_type: apiType, transport_api_version: 'V3', grpc_services: [{ envoy_grpc: { cluster_name: 'xds' } }] },
      cds_config: ads,
      lds_config: ads,
    },
    static_resources: {
      clusters: [
        {
          name: 'xds',
          connect_timeout: '1s',
          ...(secured === undefined ? {} : { transport_socket: tlsSocket(secured) }),
          typed_extension_protocol_options: { 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': http2 },
          load_assignment: { cluster_name: 'xds', endpoints: [{ lb_endpoints: [{ endpoint: { address: address(xdsPort) } }] }] },
        },
      ],
    },
  };
}
