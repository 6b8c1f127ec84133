/** Whether the authority really works: it asks itself for a certificate, as a workload does. */
import { X509Certificate } from 'node:crypto';
import { IstioCertificateRequest, IstioCertificateResponse } from '#gen/istio/v1/auth/ca.ts';
import { unaryCall } from '../io/grpc/client.ts';
import { checkChain, spiffeIdOf } from '../io/x509/chain.ts';
import { createCsr } from '../io/x509/csr.ts';
import { generateKeyPair, type KeyPair, privateKeyPem } from '../io/x509/key.ts';
import { validityFrom } from '../io/x509/template.ts';
import { seconds } from '../lib/duration.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import { formatSpiffeId, type SpiffeId } from '../lib/spiffe.ts';
import { type Authority, intermediatePems, issue, rootPem } from './authority.ts';

export interface SelfCheckOptions {
  readonly authority: Authority;
  /** What the authority runs as; it asks for a certificate of this name. */
  readonly identity: SpiffeId;
  /** Its gRPC server on this machine, and a name of its certificate; undefined: it has none. */
  readonly server: { readonly port: number; readonly name: string } | undefined;
  readonly now: Date;
  readonly newSerial: () => Uint8Array;
  readonly signal: AbortSignal;
}

const DEADLINE = seconds(5);
const LIFETIME = seconds(60);

/**
 * Makes a certificate for itself and, where there is a gRPC server, asks that with it for another one over mutual TLS and checks the
 * answer. Rejects with a MeshError that tells what does not work.
 */
export async function selfCheck(options: SelfCheckOptions): Promise<void> {
  const { authority, identity, server, now, newSerial } = options;
  const pair = await generateKeyPair('ec-p256');
  const template = {
    subject: {},
    names: [{ type: 'uri', value: formatSpiffeId(identity) }],
    publicKey: pair.publicKey,
    serial: newSerial(),
    ...validityFrom(now, LIFETIME, authority.validity),
    use: { type: 'tls', server: false, client: true },
  } as const;
  const { pem } = await issue(authority, template, now);
  if (server !== undefined) requireGood(await ask(options, server, pair, pem), pair, options);
}

async function ask(
  { authority, signal }: SelfCheckOptions,
  server: { readonly port: number; readonly name: string },
  pair: KeyPair,
  ownPem: string,
): Promise<readonly string[]> {
  const chainPem = [ownPem, ...intermediatePems(authority)].join('');
  const { pem } = await createCsr(pair);
  const { certChain } = await unaryCall({
    address: `127.0.0.1:${server.port}`,
    path: '/istio.v1.auth.IstioCertificateService/CreateCertificate',
    request: IstioCertificateRequest.fromPartial({ csr: pem, validityDuration: LIFETIME / 1000 }),
    requestCodec: IstioCertificateRequest,
    responseCodec: IstioCertificateResponse,
    deadline: DEADLINE,
    tls: { rootPem: rootPem(authority), serverName: server.name, identity: { keyPem: privateKeyPem(pair.privateKey), chainPem } },
    signal,
  });
  return certChain;
}

function requireGood(answer: readonly string[], pair: KeyPair, { authority, identity, now }: SelfCheckOptions): void {
  const [leaf, ...intermediates] = answer.map((pem) => new X509Certificate(pem));
  if (leaf === undefined) throw new MeshError('internal', 'it answers itself with no certificate');
  const { roots } = authority;
  const problems = checkChain({ leaf, intermediates, roots }, now).map(formatProblem);
  const named = spiffeIdOf(leaf);
  if (!named.ok || formatSpiffeId(named.value) !== formatSpiffeId(identity)) problems.push('it names somebody else');
  if (!leaf.publicKey.equals(pair.publicKey)) problems.push('it holds another key');
  if (problems.length > 0) throw new MeshError('internal', `it answers itself with a wrong certificate: ${problems.join('; ')}`);
}
