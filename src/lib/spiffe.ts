import type { Parsed } from './errors.ts';

/** Who a workload is: `spiffe://<trust domain>/ns/<namespace>/sa/<service account>`. */
export interface SpiffeId {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

const MAX_LENGTH = 2048;
/** A trust domain as the SPIFFE standard has it: lower case, digits, dots, dashes, underscores. */
const TRUST_DOMAIN = /^[a-z0-9._-]{1,255}$/;
/** Names of namespaces and service accounts: DNS-1123 labels and subdomains. */
const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const SHAPE = /^spiffe:\/\/([^/]+)\/ns\/([^/]+)\/sa\/([^/]+)$/;

export function formatSpiffeId(id: SpiffeId): string {
  return `spiffe://${id.trustDomain}/ns/${id.namespace}/sa/${id.serviceAccount}`;
}

export function parseSpiffeId(text: string): Parsed<SpiffeId> {
  const match = text.length > MAX_LENGTH ? null : SHAPE.exec(text);
  const id = { trustDomain: match?.[1] ?? '', namespace: match?.[2] ?? '', serviceAccount: match?.[3] ?? '' };
  if (match === null || !isSpiffeId(id)) {
    const shown = JSON.stringify(text.slice(0, 200));
    const message = `${shown} is not an identity such as spiffe://cluster.local/ns/foo/sa/httpbin`;
    return { ok: false, problems: [{ path: '', message }] };
  }
  return { ok: true, value: id };
}

/** Whether the parts can stand in an identity: nothing in them may be taken for a separator. */
export function isSpiffeId(id: SpiffeId): boolean {
  return TRUST_DOMAIN.test(id.trustDomain) && NAME.test(id.namespace) && NAME.test(id.serviceAccount);
}
