/** Runs mesh_ca in this process, on a directory of manifests, and talks to it as an agent does. */
import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IstioCertificateRequest, IstioCertificateResponse } from '#gen/istio/v1/auth/ca.ts';
import { CsrRequest, CsrResponse } from '#gen/istio/v1/auth/ca_service.ts';
import { type ClientTls, unaryCall } from '../../src/io/grpc/client.ts';
import { seconds } from '../../src/lib/duration.ts';
import { caFlags } from '../../src/mesh_ca/flags.ts';
import { run } from '../../src/mesh_ca/main.ts';
import { freePort } from './free-port.ts';
import { InProcess } from './in-process.ts';
import { manifest } from './manifest.ts';

export { manifest };

/** A store with two namespaces. */
export function newStoreDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'mesh-ca-store-'));
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  manifest(dir, 'namespaces.yaml', namespace('foo'), namespace('bar'));
  return dir;
}

export function tokenIssuers(dir: string, issuers: Readonly<Record<string, string>>): void {
  const metadata = { name: 'mesh-token-issuers', namespace: 'mesh-system' };
  manifest(dir, 'token-issuers.yaml', { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: issuers });
}

/** The text of all files below a directory. */
export function everything(dir: string): string {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((file) => join(dir, file))
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
}

/** The root that a mesh_ca made and kept there. */
export function rootIn(dir: string): string {
  const encoded = /ca-cert\.pem["']?:\s*["']?([A-Za-z0-9+/=]+)/.exec(everything(dir))?.[1] ?? '';
  return Buffer.from(encoded, 'base64').toString();
}

export function caOptions(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { ...Object.fromEntries(Object.entries(caFlags).map(([name, flag]) => [name, flag.default])), ...given };
}

export class CaProcess {
  readonly port: number;
  readonly #component: InProcess;

  private constructor(port: number, component: InProcess) {
    this.port = port;
    this.#component = component;
  }

  /** Resolves when it serves; rejects with what `run` rejects with. */
  static async start(
    options: Readonly<Record<string, unknown>>,
    env: Readonly<Record<string, string>> = {},
    now: () => Date = () => new Date(),
  ): Promise<CaProcess> {
    const ca = await CaProcess.starting(options, env, now);
    await ca.#component.when(options['grpc-port'] === 0 ? 'no gRPC requests are served' : 'serving certificate requests');
    return ca;
  }

  /** The same without waiting until it serves. */
  static async starting(
    options: Readonly<Record<string, unknown>>,
    env: Readonly<Record<string, string>> = {},
    now: () => Date = () => new Date(),
  ): Promise<CaProcess> {
    const port = Number(options['grpc-port'] ?? (await freePort()));
    const defaults = { ...options, 'grpc-port': port };
    return new CaProcess(port, InProcess.begin(run, caFlags, {}, { env, now, defaults }));
  }

  /** The exit code, once it has ended. */
  get ended(): Promise<number> {
    return this.#component.exit;
  }

  /** Resolves when a text stands in the log. */
  logged(text: string): Promise<void> {
    return this.#component.logged(text);
  }

  get log(): string {
    return this.#component.log;
  }

  /** Stops it as SIGTERM does; the exit code. */
  stop(): Promise<number> {
    return this.#component.stop();
  }
}

export interface CertificateCall {
  readonly port: number;
  readonly csr: string;
  readonly token?: string;
  readonly ttlSeconds?: number;
  readonly tls: ClientTls;
}

/** The chain that CreateCertificate answers with. */
export async function createCertificate({ port, csr, token, ttlSeconds, tls }: CertificateCall): Promise<readonly string[]> {
  const response = await unaryCall({
    ...callTo(port, tls, token),
    path: '/istio.v1.auth.IstioCertificateService/CreateCertificate',
    request: IstioCertificateRequest.fromPartial({ csr, validityDuration: ttlSeconds ?? 0 }),
    requestCodec: IstioCertificateRequest,
    responseCodec: IstioCertificateResponse,
  });
  return response.certChain;
}

export function handleCsr({ port, csr, token, tls }: CertificateCall): Promise<CsrResponse> {
  return unaryCall({
    ...callTo(port, tls, token),
    path: '/istio.v1.auth.IstioCAService/HandleCSR',
    request: CsrRequest.fromPartial({ csrPem: Buffer.from(csr), requestedTtlMinutes: 60 }),
    requestCodec: CsrRequest,
    responseCodec: CsrResponse,
  });
}

function callTo(port: number, tls: ClientTls, token: string | undefined) {
  const metadata: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return { address: `127.0.0.1:${port}`, metadata, deadline: seconds(60), tls, signal: new AbortController().signal };
}
