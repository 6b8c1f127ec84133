/** Makes the key and certificate of a service account, as they go into its Secret. */
import { generateKeyPair, type KeyType, privateKeyPem } from '../io/x509/key.ts';
import { type CertificateTemplate, validityFrom } from '../io/x509/template.ts';
import { formatSpiffeId, type SpiffeId } from '../lib/spiffe.ts';
import type { IssuedIdentity } from './account-secret.ts';
import { type Authority, intermediatePems, issue } from './authority.ts';
import type { SigningLimits } from './signing-policy.ts';

export interface IdentityRequest {
  readonly identity: SpiffeId;
  /** Stand beside the identity in the certificate. */
  readonly dnsNames: readonly string[];
  readonly keyType: KeyType;
  readonly limits: Pick<SigningLimits, 'defaultTtl' | 'organization'>;
}

/** Rejects as `issue` does. The authority is asked for once the key is there: that takes its time. */
export async function issueIdentity(
  authority: () => Authority,
  { identity, dnsNames, keyType, limits }: IdentityRequest,
  now: () => Date,
  serial: Uint8Array,
): Promise<IssuedIdentity & { readonly serial: string; readonly notAfter: Date }> {
  const pair = await generateKeyPair(keyType);
  const signing = authority();
  const time = now();
  const template: CertificateTemplate = {
    subject: { organization: limits.organization },
    names: [{ type: 'uri', value: formatSpiffeId(identity) }, ...dnsNames.map((value) => ({ type: 'dns', value }) as const)],
    publicKey: pair.publicKey,
    serial,
    ...validityFrom(time, limits.defaultTtl, signing.validity),
    use: { type: 'tls', server: true, client: true },
  };
  const issued = await issue(signing, template, time);
  return {
    keyPem: privateKeyPem(pair.privateKey),
    chainPem: [issued.pem, ...intermediatePems(signing)].join(''),
    serial: issued.serial,
    notAfter: issued.notAfter,
  };
}
