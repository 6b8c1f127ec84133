/** JSON paths as problems print them: `spec.peers[0].mtls`, `metadata.labels["app.kubernetes.io/name"]`. */

/** A step into a document: a key of a mapping, or an index of a list. */
export type Step = string | number;

const PLAIN_KEY = /^[A-Za-z_$][A-Za-z0-9_$-]*$/;

/** The path one step further in. */
export function joinPath(base: string, step: Step): string {
  if (typeof step === 'number') return `${base}[${step}]`;
  if (!PLAIN_KEY.test(step)) return `${base}[${JSON.stringify(step)}]`;
  return base === '' ? step : `${base}.${step}`;
}
