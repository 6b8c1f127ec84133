import { generateKeyPair } from '../io/x509/key.ts';
import { validityFrom } from '../io/x509/template.ts';
import { seconds } from '../lib/duration.ts';
import { type Authority, issue } from './authority.ts';

/** Signs a certificate that nobody gets, with all checks of a real one. */
export async function selfCheck(authority: Authority, now: () => Date, newSerial: () => Uint8Array): Promise<void> {
  const { publicKey } = await generateKeyPair('ec-p256');
  const names = [{ type: 'dns', value: 'liveness.invalid' }] as const;
  const validity = validityFrom(now(), seconds(60), authority.validity);
  const use = { type: 'tls', server: true, client: false } as const;
  await issue(authority, { subject: {}, names, publicKey, serial: newSerial(), ...validity, use }, now());
}
