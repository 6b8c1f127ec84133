import { isFields } from './json-value.ts';

/** Fields of Envoy's that hold what nobody but the proxy may see. */
const SECRET_FIELDS: readonly string[] = [
  'private_key',
  'private_key_provider',
  'password',
  'pkcs12',
  'session_ticket_keys',
  'generic_secret',
  'inline_key',
];
const REDACTED = '[redacted]';

/** The same value without private keys and passwords. The proxy leaves out most itself; this is for what it does not know of. */
export function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('PRIVATE KEY') ? REDACTED : value;
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, SECRET_FIELDS.includes(name) ? REDACTED : withoutSecrets(inner)]),
  );
}
