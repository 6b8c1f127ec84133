/** The files behind HTTPS: the webhook's own certificate and key, and the roots that the API server checks it against. */
import { followFiles } from '../io/file/follow-files.ts';
import type { Logger } from '../io/log/logger.ts';
import { parseCertificateChain } from '../io/x509/certificate-chain.ts';
import { type KeyPairFiles, parseKeyPair, type ServerKeyPair } from '../io/x509/key-pair-files.ts';
import type { Parsed } from '../lib/errors.ts';

export interface Following {
  readonly onChange: () => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Throws MeshError `invalid` when certificate and key are missing, broken or no pair; later such ones leave the last good pair in force. */
export async function followKeyPair(files: KeyPairFiles, following: Following): Promise<() => ServerKeyPair> {
  const followed = await followFiles({
    ...following,
    paths: [files.certFile, files.keyFile],
    title: 'webhook certificate',
    parse: ([certChainPem = '', keyPem = '']) => parseKeyPair(certChainPem, keyPem, files),
  });
  return followed.value;
}

/** Throws MeshError `invalid` when the file is missing or has no certificate. */
export async function followRoots(file: string, following: Following): Promise<() => string> {
  const parse = ([pem = '']: readonly string[]): Parsed<string> => {
    const certificates = parseCertificateChain(pem);
    if (!certificates.ok) return certificates;
    if (certificates.value.length > 0) return { ok: true, value: pem };
    return { ok: false, problems: [{ path: '', message: 'has no certificate' }] };
  };
  const followed = await followFiles({ ...following, paths: [file], title: 'CA certificate', parse });
  return followed.value;
}
