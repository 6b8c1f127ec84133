/** Admission reviews, as the API server sends and takes them (admission.k8s.io, AdmissionReview v1 and v1beta1). Pure. */
import type { Parsed } from '../../lib/errors.ts';
import { parseJson } from './json-text.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const GROUP = 'admission.k8s.io';
const VERSIONS: readonly string[] = [`${GROUP}/v1`, `${GROUP}/v1beta1`];

/** What the API server asks about. */
export interface AdmissionRequest {
  /** Echoed in the answer, with which the API server finds its question again. */
  readonly uid: string;
  /** Of the review; the answer has the same. */
  readonly apiVersion: string;
  readonly namespace: string;
  /** Of the object; what its name begins with when it will be generated. */
  readonly name: string;
  /** `CREATE`, `UPDATE`, `DELETE`, `CONNECT`. */
  readonly operation: string;
  /** `Pod`; with its group, if any: `Deployment.apps`. */
  readonly kind: string;
  /** The object as it would be stored, unchecked. */
  readonly object: unknown;
  /** What it replaces; undefined where it replaces nothing. */
  readonly oldObject: unknown;
}

export type Verdict =
  /** Warnings are shown to whoever asked the API server, below his command for example. */
  | { readonly type: 'unchanged'; readonly warnings?: readonly string[] }
  /** The patch is a JSON patch (RFC 6902). */
  | { readonly type: 'patched'; readonly patch: readonly object[] }
  | { readonly type: 'denied'; readonly message: string; readonly code: 400 | 500 };

export function readReview(text: string): Parsed<AdmissionRequest> {
  const wrong = (path: string, message: string): Parsed<AdmissionRequest> => ({ ok: false, problems: [{ path, message }] });
  const review = parseJson(text);
  if (!isRecord(review)) return wrong('', 'the body is not an AdmissionReview in JSON');
  const { kind, apiVersion, request } = review;
  if (kind !== 'AdmissionReview' || typeof apiVersion !== 'string' || !VERSIONS.includes(apiVersion)) {
    return wrong('apiVersion', `must be one of ${VERSIONS.join(', ')}, of kind AdmissionReview`);
  }
  if (!isRecord(request)) return wrong('request', 'is missing');
  const { uid, namespace, operation, object, oldObject } = request;
  if (typeof uid !== 'string' || uid === '') return wrong('request.uid', 'is missing');
  return {
    ok: true,
    value: {
      uid,
      apiVersion,
      namespace: textOf(namespace),
      name: nameOf(object),
      operation: textOf(operation),
      kind: kindOf(request['kind']),
      object,
      oldObject: oldObject ?? undefined,
    },
  };
}

/** What can still be answered of a review that cannot be read: its UID and version, as far as they are there. */
export function salvageReview(text: string): Pick<AdmissionRequest, 'uid' | 'apiVersion'> {
  const review = parseJson(text);
  const { apiVersion, request } = isRecord(review) ? review : {};
  const known = VERSIONS.find((version) => version === apiVersion);
  return { uid: isRecord(request) ? textOf(request['uid']) : '', apiVersion: known ?? `${GROUP}/v1` };
}

/** The AdmissionReview that answers. */
export function answerReview({ uid, apiVersion }: Pick<AdmissionRequest, 'uid' | 'apiVersion'>, verdict: Verdict): JsonObject {
  return { apiVersion, kind: 'AdmissionReview', response: { uid, ...response(verdict) } };
}

function response(verdict: Verdict): JsonObject {
  switch (verdict.type) {
    case 'unchanged': {
      const { warnings = [] } = verdict;
      return warnings.length === 0 ? { allowed: true } : { allowed: true, warnings };
    }
    case 'patched': {
      const patch = Buffer.from(JSON.stringify(verdict.patch)).toString('base64');
      return { allowed: true, patchType: 'JSONPatch', patch };
    }
    case 'denied':
      return { allowed: false, status: { status: 'Failure', message: verdict.message, code: verdict.code } };
  }
}

function kindOf(value: unknown): string {
  const { group, kind } = isRecord(value) ? value : {};
  return textOf(group) === '' ? textOf(kind) : `${textOf(kind)}.${textOf(group)}`;
}

function nameOf(object: unknown): string {
  const metadata = isRecord(object) ? object['metadata'] : undefined;
  const { name, generateName } = isRecord(metadata) ? metadata : {};
  return textOf(name) || textOf(generateName);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
