/**
 * Certificate requests a second that a real mesh_ca answers over gRPC, by the CPU time of its process: many on one connection, and
 * each on a connection of its own, as agents come. Credentials are RS256 tokens, as Kubernetes signs them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createCsr } from '../src/io/x509/csr.ts';
import { generateKeyPair, type KeyType } from '../src/io/x509/key.ts';
import { validityFrom } from '../src/io/x509/template.ts';
import { seconds } from '../src/lib/duration.ts';
import { AuthorityDirectory, keyPemOf, pemOf } from '../test/harness/authority-files.ts';
import { newStoreDirectory, tokenIssuers } from '../test/harness/ca-process.ts';
import { DAY, makeRoot } from '../test/harness/certificates.ts';
import { CsrLoad, createCertificateRequest } from '../test/harness/csr-load.ts';
import { freePort } from '../test/harness/free-port.ts';
import { claims, jwksOf, signToken, tokenKey } from '../test/harness/tokens.ts';

const AT_ONCE = 32;
const WARM_UP_MS = 2_000;
/** Of /proc/<pid>/stat, on every Linux that there is. */
const TICKS_PER_SECOND = 100;

export interface GrpcRate {
  readonly 'per s': number;
  readonly 'per s of CPU': number;
  readonly 'resident MB': number;
}

/** Rates of one mesh_ca with a root key of this type. */
export async function grpcRates(keyType: KeyType, measureMs: number): Promise<Readonly<Record<string, GrpcRate>>> {
  const store = newStoreDirectory();
  const files = new AuthorityDirectory();
  const signer = tokenKey('bench', 'RS256');
  tokenIssuers(store, { bench: JSON.stringify({ issuer: 'bench', jwks: jwksOf(signer) }) });
  const root = await makeRoot(keyType, validityFrom(new Date(), seconds(365 * DAY)));
  files.write('cert.pem', pemOf(root));
  files.write('key.pem', keyPemOf(root));
  const port = await freePort();
  const child = await start({
    'orch-config': store,
    'signing-cert': files.path('cert.pem'),
    'signing-key': files.path('key.pem'),
    'grpc-port': port,
  });
  try {
    const token = signToken(signer, claims({ iss: 'bench' }, new Date()));
    const { pem } = await createCsr({
      ...(await generateKeyPair('ec-p256')),
      uriSans: ['spiffe://cluster.local/ns/foo/sa/httpbin'],
    });
    const message = createCertificateRequest(pem);
    const connection = { port, rootPem: pemOf(root), token };
    const load = await CsrLoad.connect(connection);
    const one = await rate(child, measureMs, AT_ONCE, async () => requireOk(await load.call(message)));
    load.close();
    const each = await rate(child, measureMs, 4, async () => {
      const own = await CsrLoad.connect(connection);
      requireOk(await own.call(message));
      own.close();
    });
    return {
      [`${keyType}, one connection`]: one,
      [`${keyType}, a connection each`]: each,
    };
  } finally {
    child.kill('SIGTERM');
    for (const dir of [store, files.dir]) rmSync(dir, { recursive: true, force: true });
  }
}

/** The built one, as it is run: `npm run build` first. */
async function start(flags: Readonly<Record<string, string | number>>): Promise<ChildProcess> {
  const words = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const child = spawn('bin/mesh', ['mesh_ca', ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`mesh_ca ended with ${code}`)));
    child.stdout.on('data', (chunk) => {
      if (String(chunk).includes('serving certificate requests')) resolve();
    });
  });
  return child;
}

function requireOk({ status, message }: { readonly status: string; readonly message: string }): void {
  if (status !== '0') throw new Error(`status ${status}: ${message}`);
}

async function rate(child: ChildProcess, measureMs: number, atOnce: number, run: () => Promise<void>): Promise<GrpcRate> {
  await repeat(WARM_UP_MS, atOnce, run);
  const [cpu, begin] = [cpuSeconds(child), performance.now()];
  const count = await repeat(measureMs, atOnce, run);
  const wall = (performance.now() - begin) / 1000;
  return {
    'per s': Math.round(count / wall),
    'per s of CPU': Math.round(count / (cpuSeconds(child) - cpu)),
    'resident MB': residentMegabytes(child),
  };
}

async function repeat(ms: number, atOnce: number, run: () => Promise<void>): Promise<number> {
  const end = performance.now() + ms;
  let count = 0;
  const worker = async (): Promise<void> => {
    for (; performance.now() < end; count += 1) await run();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return count;
}

function cpuSeconds({ pid }: ChildProcess): number {
  // After the name in parentheses: state is field 3, user and system time are fields 14 and 15.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function residentMegabytes({ pid }: ChildProcess): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1000);
}
