/**
 * Certificates a second on one core: the whole work of one request (read and verify the CSR, decide, sign, check the result), its
 * parts, raw signing by node:crypto, and requests over gRPC to a real mesh_ca, all in the same run. Prints tables; run it with
 * `node bench/certificates.ts [seconds]`.
 */
import { randomBytes, sign, X509Certificate } from 'node:crypto';
import { signCertificate, signRoot } from '../src/io/x509/certificate.ts';
import { createCsr } from '../src/io/x509/csr.ts';
import { parseCsr } from '../src/io/x509/csr-parse.ts';
import { generateKeyPair, privateKeyPem } from '../src/io/x509/key.ts';
import { encodePem } from '../src/io/x509/pem.ts';
import { validityFrom } from '../src/io/x509/template.ts';
import { seconds } from '../src/lib/duration.ts';
import { issue, parseAuthority } from '../src/mesh_ca/authority.ts';
import { templateFor } from '../src/mesh_ca/signing-policy.ts';
import { grpcRates } from './certificates-grpc.ts';

const DAY = 24 * 3600;
const CALLS_AT_ONCE = 16;
const measureMs = Number(process.argv[2] ?? 2) * 1000;

/** Runs for the time given, several at once as a server does; the rate by wall clock and by CPU time of the process. */
async function rate(run: () => Promise<unknown> | unknown): Promise<{ readonly wall: number; readonly cpu: number }> {
  for (let warm = 0; warm < 200; warm += 1) await run();
  const cpu = process.cpuUsage();
  const begin = performance.now();
  let count = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() - begin < measureMs) {
      await run();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, worker));
  const { user, system } = process.cpuUsage(cpu);
  return { wall: Math.round((count / (performance.now() - begin)) * 1000), cpu: Math.round((count / (user + system)) * 1e6) };
}

const caller = { trustDomain: 'cluster.local', namespace: 'foo', serviceAccount: 'httpbin' };
const limits = { defaultTtl: seconds(90 * DAY), maxTtl: seconds(90 * DAY), organization: '', certificateAuthorities: [] };
const now = new Date();

for (const type of ['ec-p256', 'rsa-2048'] as const) {
  const pair = await generateKeyPair(type);
  const template = {
    subject: { organization: 'bench' },
    names: [],
    publicKey: pair.publicKey,
    serial: randomBytes(16),
    use: { type: 'ca' },
  } as const;
  const root = await signRoot({ ...template, ...validityFrom(now, seconds(365 * DAY)) }, pair.privateKey);
  const material = {
    signingCert: encodePem('CERTIFICATE', root),
    signingKey: privateKeyPem(pair.privateKey),
    certChain: '',
    rootCert: '',
  };
  const authority = parseAuthority(material, now);
  if (!authority.ok) throw new Error('the root cannot be used');
  const { pem } = await createCsr({
    ...(await generateKeyPair('ec-p256')),
    uriSans: ['spiffe://cluster.local/ns/foo/sa/httpbin'],
  });
  const requireCsr = () => {
    const csr = parseCsr(pem);
    if (!csr.ok) throw new Error('the request cannot be read');
    return csr.value;
  };
  const csr = requireCsr();
  const decide = () => templateFor({ caller, csr, ttl: undefined }, limits, authority.value, now, randomBytes(16));
  const tbs = randomBytes(new X509Certificate(root).raw.length);
  console.table({
    [`${type} raw signature, node:crypto, sync`]: await rate(() => sign('sha256', tbs, pair.privateKey)),
    [`${type} encode and sign`]: await rate(() => signCertificate(decide(), authority.value.issuerKey)),
    [`${type} encode, sign, check`]: await rate(() => issue(authority.value, decide(), now)),
    'read and verify the request': await rate(requireCsr),
    [`${type} whole request`]: await rate(() => {
      const request = { caller, csr: requireCsr(), ttl: undefined };
      return issue(authority.value, templateFor(request, limits, authority.value, now, randomBytes(16)), now);
    }),
  });
}

for (const type of ['ec-p256', 'rsa-2048'] as const) console.table(await grpcRates(type, measureMs));
