/** Asks another certificate authority for a signing certificate, as any caller asks for one of its own. */
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { IstioCertificateRequest, IstioCertificateResponse } from '#gen/istio/v1/auth/ca.ts';
import { type ClientTls, unaryCall } from '../io/grpc/client.ts';
import { createCsr } from '../io/x509/csr.ts';
import type { KeyPair } from '../io/x509/key.ts';
import type { HostPort } from '../lib/address.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { Redacted } from '../lib/redacted.ts';

/** What this authority proves itself with; files, so that they can be renewed. */
export type UpstreamCredential =
  | { readonly type: 'token'; readonly file: string }
  | { readonly type: 'certificate'; readonly chainFile: string; readonly keyFile: string };

export interface UpstreamConfig {
  readonly address: HostPort;
  /** PEM of the roots that the upstream authority and what it signs are checked against. */
  readonly rootFile: string;
  readonly credential: UpstreamCredential;
  readonly requestedTtl: Duration;
}

const DEADLINE = seconds(10);
const MAX_TOKEN_CHARACTERS = 64 * 1024;
const PATH = '/istio.v1.auth.IstioCertificateService/CreateCertificate';
/** Authorities carry this name by default; at an address without a name it is what the upstream must show. */
const DEFAULT_SERVER_NAME = 'mesh-citadel';

/**
 * The chain that the upstream authority answers with: nothing of it is checked yet. Rejects with a MeshError that names the file or the address.
 */
export async function requestSigningCertificate(
  config: UpstreamConfig,
  pair: KeyPair,
  rootPem: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { address, credential, requestedTtl } = config;
  const serverName = isIP(address.host) === 0 ? address.host : DEFAULT_SERVER_NAME;
  const csr = await createCsr({ ...pair, isCa: true });
  const response = await unaryCall({
    address: addressText(address),
    path: PATH,
    request: IstioCertificateRequest.fromPartial({
      csr: csr.pem,
      validityDuration: Math.max(1, Math.floor(requestedTtl / 1000)),
    }),
    requestCodec: IstioCertificateRequest,
    responseCodec: IstioCertificateResponse,
    deadline: DEADLINE,
    signal,
    ...(await proofOf(credential, { rootPem, serverName })),
  });
  return response.certChain;
}

export function addressText({ host, port }: HostPort): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

async function proofOf(
  credential: UpstreamCredential,
  tls: ClientTls,
): Promise<{ readonly tls: ClientTls; readonly metadata?: Readonly<Record<string, string>> }> {
  if (credential.type === 'token') {
    const token = (await readCredential('--upstream-ca-token', credential.file)).trim();
    if (token === '' || token.length > MAX_TOKEN_CHARACTERS || /[^\x21-\x7e]/.test(token)) {
      throw new MeshError('unauthenticated', `--upstream-ca-token ${credential.file} holds no token`);
    }
    return { tls, metadata: { authorization: `Bearer ${token}` } };
  }
  const chainPem = await readCredential('--upstream-ca-client-cert', credential.chainFile);
  const keyPem = new Redacted(await readCredential('--upstream-ca-client-key', credential.keyFile));
  return { tls: { ...tls, identity: { keyPem, chainPem } } };
}

async function readCredential(flag: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    throw new MeshError('unauthenticated', `${flag} cannot be read: ${MeshError.from(thrown).message}`, thrown);
  }
}
