import { randomBytes } from 'node:crypto';
import { signRoot } from '../../io/x509/certificate.ts';
import { generateKeyPair, privateKeyPem } from '../../io/x509/key.ts';
import { encodePem } from '../../io/x509/pem.ts';
import { validityFrom } from '../../io/x509/template.ts';
import { seconds } from '../../lib/duration.ts';
import type { Redacted } from '../../lib/redacted.ts';

/** A lab does not run that long. */
const TTL = seconds(10 * 365 * 24 * 3600);

/** A certificate that a server signs itself, as a kubelet does that nobody has given one, and its key (PKCS #8); both PEM. */
export async function selfSigned(
  commonName: string,
  address: string,
  now: Date,
): Promise<{ readonly certificate: string; readonly key: Redacted }> {
  const { publicKey, privateKey } = await generateKeyPair('ec-p256');
  const der = await signRoot(
    {
      subject: { commonName },
      names: [{ type: 'ip', value: address }],
      publicKey,
      serial: randomBytes(16),
      use: { type: 'tls', server: true, client: false },
      ...validityFrom(now, TTL),
    },
    privateKey,
  );
  return { certificate: encodePem('CERTIFICATE', der), key: privateKeyPem(privateKey) };
}
