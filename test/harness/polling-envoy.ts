/**
 * A pod in a network namespace of its own with everything in it: pilot-discovery on a directory of manifests, a real Envoy that polls it over
 * REST, applications on a few addresses, and the redirection of one user's connections, as mesh-init does it for a pod.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createGrpcServer } from '../../src/io/grpc/server.ts';
import type { GrpcServer } from '../../src/io/grpc/types.ts';
import { silentLogger } from '../../src/io/log/logger.ts';
import { envoyPath } from '../../src/lib/envoy-path.ts';
import { Redacted } from '../../src/lib/redacted.ts';
import { secretMethods } from '../../src/pilot-agent/sds.ts';
import { SecretHolder } from '../../src/pilot-agent/secrets.ts';
import { componentArguments } from './component-process.ts';
import { TestRoot } from './test-authority.ts';

const exec = promisify(execFile);

/** The pod's own address: its proxy's node has it. */
export const OWN = '10.1.1.1';
const HTTP_PORT = 8080;
const ADMIN_PORT = 15_000;
/** Only this user's connections are redirected; the proxy's own are not. */
const CLIENT_UID = '65534';

/** Answers every request with the address it was sent to. */
const APPLICATION = `for (const host of JSON.parse(process.argv[1])) require('http')
  .createServer((request, response) => response.end(request.socket.localAddress)).listen(8000, host);`;

export interface CurlResult {
  /** 0 when there was no answer. */
  readonly status: number;
  readonly body: string;
}

export class PollingPod {
  readonly manifests = mkdtempSync(join(tmpdir(), 'mesh-rest-'));
  readonly #folder = mkdtempSync(join(tmpdir(), 'mesh-rest-pod-'));
  readonly #namespace = `mesh-rest-${process.pid}`;
  readonly #processes: ChildProcess[] = [];
  #secrets: GrpcServer | undefined;
  output = '';

  /** `options` are those of pilot-discovery, `others` the addresses of other pods, whose applications run here too. */
  async start(options: Readonly<Record<string, unknown>>, others: readonly string[]): Promise<void> {
    await exec('ip', ['netns', 'add', this.#namespace]);
    await exec('ip', ['-n', this.#namespace, 'link', 'set', 'lo', 'up']);
    await exec('ip', ['-n', this.#namespace, 'route', 'add', 'default', 'dev', 'lo']);
    for (const address of [OWN, ...others])
      await exec('ip', ['-n', this.#namespace, 'addr', 'add', `${address}/32`, 'dev', 'lo']);
    await this.#redirect('10.96.0.0/16', 15_001);
    await this.#redirect(`${OWN}/32`, 15_006);
    await this.#serveSecrets();
    this.#run(process.execPath, ['-e', APPLICATION, JSON.stringify([OWN, ...others])]);
    this.#run(
      process.execPath,
      componentArguments('pilot-discovery', 'run', 'discoveryFlags', { orchconfig: this.manifests, port: HTTP_PORT, ...options }),
    );
    const bootstrap = JSON.stringify(this.#bootstrap());
    this.#run(envoyPath(process.env), [
      '--config-yaml',
      bootstrap,
      '--concurrency',
      '1',
      '-l',
      'warning',
      '--use-dynamic-base-id',
    ]);
  }

  async stop(): Promise<void> {
    for (const child of this.#processes) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await this.#secrets?.close(0);
    await exec('ip', ['netns', 'delete', this.#namespace]).catch(() => {});
    for (const folder of [this.manifests, this.#folder]) rmSync(folder, { recursive: true, force: true });
  }

  /** A request of the pod's application, which the redirection hands to the proxy. */
  async curl(url: string): Promise<CurlResult> {
    const { stdout } = await this.#curl(['setpriv', `--reuid=${CLIENT_UID}`, '--clear-groups'], ['-w', '\n%{http_code}', url]);
    const [status = '0', ...body] = stdout.split('\n').toReversed();
    return { status: Number(status), body: body.toReversed().join('\n') };
  }

  /** A page of pilot-discovery. */
  async page(path: string): Promise<string> {
    return (await this.#curl([], [`http://127.0.0.1:${HTTP_PORT}${path}`])).stdout;
  }

  /** A page of the proxy's administration port. */
  async admin(path: string): Promise<string> {
    return (await this.#curl([], [`http://127.0.0.1:${ADMIN_PORT}${path}`])).stdout;
  }

  async #curl(as: readonly string[], args: readonly string[]): Promise<{ readonly stdout: string }> {
    const all = ['netns', 'exec', this.#namespace, ...as, 'curl', '-s', '-m', '5', ...args];
    return exec('ip', all).catch((failed: { readonly stdout?: string }) => ({ stdout: failed.stdout ?? '' }));
  }

  async #redirect(destination: string, port: number): Promise<void> {
    const who = ['-p', 'tcp', '-d', destination, '-m', 'owner', '--uid-owner', CLIENT_UID];
    const rule = ['-t', 'nat', '-A', 'OUTPUT', ...who, '-j', 'REDIRECT', '--to-ports', String(port)];
    await exec('ip', ['netns', 'exec', this.#namespace, 'iptables', '-w', ...rule]);
  }

  #run(command: string, args: readonly string[]): void {
    const child = spawn('ip', ['netns', 'exec', this.#namespace, command, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (this.output += chunk));
    this.#processes.push(child);
  }

  async #serveSecrets(): Promise<void> {
    const root = await TestRoot.create();
    const { keyPem, chainPem } = await root.identity({ type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/default' });
    const holder = new SecretHolder();
    const [obtainedAt, notAfter] = [new Date(), new Date(Date.now() + 1_800_000)];
    holder.set({ identity: { keyPem: new Redacted(keyPem), chainPem, obtainedAt, notAfter }, rootsPem: root.pem });
    this.#secrets = createGrpcServer({ methods: secretMethods(holder, silentLogger) }, silentLogger);
    await this.#secrets.listen({ path: join(this.#folder, 'sds.sock') });
  }

  #bootstrap(): object {
    const polled = {
      resource_api_version: 'V3',
      initial_fetch_timeout: '0s',
      api_config_source: {
        api_type: 'REST',
        transport_api_version: 'V3',
        cluster_names: ['xds-rest'],
        refresh_delay: '0.1s',
        request_timeout: '5s',
      },
    };
    const http2 = {
      '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
      explicit_http_config: { http2_protocol_options: {} },
    };
    return {
      node: { id: `sidecar~${OWN}~httpbin-1.foo~foo.svc.cluster.local`, cluster: 'httpbin' },
      admin: { address: address(ADMIN_PORT) },
      dynamic_resources: { cds_config: polled, lds_config: polled },
      static_resources: {
        clusters: [
          staticCluster('xds-rest', address(HTTP_PORT)),
          {
            ...staticCluster('sds-grpc', { pipe: { path: join(this.#folder, 'sds.sock') } }),
            typed_extension_protocol_options: { 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': http2 },
          },
        ],
      },
    };
  }
}

function address(port: number): object {
  return { socket_address: { address: '127.0.0.1', port_value: port } };
}

function staticCluster(name: string, address: object): object {
  const endpoints = [{ lb_endpoints: [{ endpoint: { address } }] }];
  return { name, type: 'STATIC', connect_timeout: '1s', load_assignment: { cluster_name: name, endpoints } };
}
