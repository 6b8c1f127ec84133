import type { Duration } from '../../lib/duration.ts';
import type { Parsed, Problem } from '../../lib/errors.ts';
import type { ProjectedPart } from './pod-spec.ts';
import { renewAfter } from './token.ts';

/** Where the content of a projected volume comes from. */
export interface VolumeSources {
  /** The keys of a ConfigMap or Secret of the pod's namespace; undefined when there is none. */
  readonly keys: (source: 'configMap' | 'secret', name: string) => ReadonlyMap<string, Uint8Array> | undefined;
  readonly field: (fieldPath: string) => string | undefined;
  readonly token: (audience: string, lifetime: Duration) => Promise<string>;
}

export interface VolumeContent {
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** When a token in it is to be renewed; absent without tokens. */
  readonly renewAfter: Duration | undefined;
}

/** Gathers what belongs into a projected volume. A missing object or key that is not optional is a problem. */
export async function volumeContent(parts: readonly ProjectedPart[], sources: VolumeSources): Promise<Parsed<VolumeContent>> {
  const files = new Map<string, Uint8Array>();
  const problems: Problem[] = [];
  let renewal: Duration | undefined;
  for (const part of parts) {
    switch (part.type) {
      case 'configMap':
      case 'secret':
        addKeys(part, sources, files, problems);
        break;
      case 'downwardAPI':
        for (const { path, fieldPath } of part.items) {
          const text = sources.field(fieldPath);
          if (text === undefined) problems.push({ path, message: `a pod has no field "${fieldPath}"` });
          else files.set(path, Buffer.from(text));
        }
        break;
      case 'serviceAccountToken': {
        files.set(part.path, Buffer.from(await sources.token(part.audience, part.lifetime)));
        const next = renewAfter(part.lifetime);
        renewal = renewal === undefined || next < renewal ? next : renewal;
        break;
      }
    }
  }
  return problems.length === 0 ? { ok: true, value: { files, renewAfter: renewal } } : { ok: false, problems };
}

function addKeys(
  part: Extract<ProjectedPart, { type: 'configMap' | 'secret' }>,
  sources: VolumeSources,
  files: Map<string, Uint8Array>,
  problems: Problem[],
): void {
  const keys = sources.keys(part.type, part.name);
  const title = `${part.type === 'secret' ? 'Secret' : 'ConfigMap'} "${part.name}"`;
  if (keys === undefined) {
    if (!part.optional) problems.push({ path: '', message: `${title} does not exist` });
    return;
  }
  const items = part.items.length > 0 ? part.items : [...keys.keys()].map((key) => ({ key, path: key }));
  for (const { key, path } of items) {
    const content = keys.get(key);
    if (content !== undefined) files.set(path, content);
    else if (!part.optional) problems.push({ path, message: `${title} has no key "${key}"` });
  }
}
