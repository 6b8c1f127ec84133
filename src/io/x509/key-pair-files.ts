/** The certificate and private key of a server, in PEM, as operators mount them. */
import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { MeshError, type Parsed, type Problem } from '../../lib/errors.ts';
import { Redacted } from '../../lib/redacted.ts';
import { parseCertificateChain } from './certificate-chain.ts';

export interface KeyPairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate chain, leaf first, and the key of the leaf. */
export interface ServerKeyPair {
  readonly certChainPem: string;
  readonly keyPem: Redacted<string>;
  readonly leaf: X509Certificate;
}

/** Checks that both can be read and belong to each other; what is wrong names its file. */
export function parseKeyPair(certChainPem: string, keyPem: string, files: KeyPairFiles): Parsed<ServerKeyPair> {
  const chain = parseCertificateChain(certChainPem);
  const key = parseKey(keyPem, files.keyFile);
  const problems: Problem[] = [];
  if (!chain.ok) problems.push(...chain.problems.map((problem) => ({ ...problem, file: files.certFile })));
  if (!key.ok) problems.push(...key.problems);
  if (!chain.ok || !key.ok) return { ok: false, problems };
  const [leaf] = chain.value;
  if (leaf === undefined) return { ok: false, problems: [{ path: '', file: files.certFile, message: 'has no certificate' }] };
  if (!leaf.checkPrivateKey(key.value)) {
    const message = `is not the private key of the certificate in ${files.certFile}`;
    return { ok: false, problems: [{ path: '', file: files.keyFile, message }] };
  }
  return { ok: true, value: { certChainPem, keyPem: new Redacted(keyPem), leaf } };
}

function parseKey(pem: string, file: string): Parsed<KeyObject> {
  try {
    return { ok: true, value: createPrivateKey(pem) };
  } catch (error) {
    const message = `is not a private key in PEM without a passphrase: ${MeshError.from(error).message}`;
    return { ok: false, problems: [{ path: '', file, message }] };
  }
}
