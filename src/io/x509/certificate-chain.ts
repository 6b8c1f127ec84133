/** Reads PEM chains, by what Node has: a server that only shows its certificate needs no library for what is in it. */
import { X509Certificate } from 'node:crypto';
import { MeshError, type Parsed, type Problem } from '../../lib/errors.ts';
import { decodePem } from './pem.ts';

const MAX_CERTIFICATES = 100;

/** Every certificate of a PEM text, in order; other blocks are a problem. */
export function parseCertificateChain(pem: string): Parsed<readonly X509Certificate[]> {
  const blocks = decodePem(pem);
  if (!blocks.ok) return blocks;
  if (blocks.value.length > MAX_CERTIFICATES) {
    return { ok: false, problems: [{ path: '', message: `more than ${MAX_CERTIFICATES} certificates` }] };
  }
  const problems: Problem[] = [];
  const certificates: X509Certificate[] = [];
  for (const [index, block] of blocks.value.entries()) {
    const path = `[${index}]`;
    if (block.label !== 'CERTIFICATE') {
      problems.push({ path, message: `a PEM block CERTIFICATE is expected, not ${block.label}` });
      continue;
    }
    try {
      certificates.push(new X509Certificate(block.der));
    } catch (error) {
      problems.push({ path, message: `the certificate cannot be read: ${MeshError.from(error).message}` });
    }
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: certificates };
}
