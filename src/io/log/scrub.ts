/**
 * The last line of defence: what looks like a secret is not logged, even where it arrived inside another program's message.
 * Secrets of ours are `Redacted` (lib/redacted.ts) long before.
 */
const SECRETS: readonly { readonly sign: string; readonly form: RegExp; readonly shown: string }[] = [
  {
    sign: 'PRIVATE KEY-----',
    form: /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[\s\S]*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|$)/g,
    shown: '[redacted private key]',
  },
  // RFC 7515, section 3.1: the header is JSON in base64url, which always begins so.
  { sign: 'eyJ', form: /\beyJ[\w-]{5,}\.[\w-]{2,}\.[\w-]{16,}/g, shown: '[redacted token]' },
  { sign: '://', form: /(:\/\/[^\s/:@"]*):[^\s/@"]+@/g, shown: '$1:[redacted]@' },
];

/** A text without private keys in PEM, signed tokens and passwords in URLs. */
export function scrub(text: string): string {
  let clean = text;
  for (const { sign, form, shown } of SECRETS) if (clean.includes(sign)) clean = clean.replace(form, shown);
  return clean;
}
