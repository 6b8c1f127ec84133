import { seconds } from '../../lib/duration.ts';
import type { Fields } from './fields.ts';
import type { KeyToPath, ProjectedPart, VolumeSource, VolumeSpec } from './pod-spec.ts';

const DEFAULT_MODE = 0o644;
const DEFAULT_TOKEN_SECONDS = 3_600;
/** As the API server's lower bound of a requested token's life. */
const MIN_TOKEN_SECONDS = 600;

/** Reads one entry of a pod's `volumes`. */
export function parseVolume(volume: Fields): VolumeSpec {
  return { name: volume.requiredString('name'), source: parseSource(volume) };
}

function parseSource(volume: Fields): VolumeSource {
  if (volume.has('emptyDir')) return { type: 'emptyDir' };
  const host = volume.optionalObject('hostPath');
  if (host !== undefined) return { type: 'hostPath', path: host.requiredString('path') };
  const projected = volume.optionalObject('projected');
  if (projected !== undefined) {
    const parts = projected.list('sources').flatMap(parseProjectedSource);
    return { type: 'projected', parts, mode: projected.integer('defaultMode') ?? DEFAULT_MODE };
  }
  const part = parseSinglePart(volume);
  if (part !== undefined) return { type: 'projected', parts: [part.part], mode: part.mode };
  volume.problem('', 'the lab knows emptyDir, hostPath, configMap, secret, downwardAPI and projected volumes');
  return { type: 'emptyDir' };
}

function parseSinglePart(volume: Fields): { part: ProjectedPart; mode: number } | undefined {
  for (const [field, nameField] of [
    ['configMap', 'name'],
    ['secret', 'secretName'],
  ] as const) {
    const source = volume.optionalObject(field);
    if (source !== undefined)
      return { part: keysOf(field, source, nameField), mode: source.integer('defaultMode') ?? DEFAULT_MODE };
  }
  const downward = volume.optionalObject('downwardAPI');
  if (downward === undefined) return undefined;
  return { part: downwardOf(downward), mode: downward.integer('defaultMode') ?? DEFAULT_MODE };
}

function parseProjectedSource(source: Fields): ProjectedPart[] {
  const parts: ProjectedPart[] = [];
  for (const field of ['configMap', 'secret'] as const) {
    const keys = source.optionalObject(field);
    if (keys !== undefined) parts.push(keysOf(field, keys, 'name'));
  }
  const downward = source.optionalObject('downwardAPI');
  if (downward !== undefined) parts.push(downwardOf(downward));
  const token = source.optionalObject('serviceAccountToken');
  if (token !== undefined) {
    const lifetime = seconds(Math.max(MIN_TOKEN_SECONDS, token.integer('expirationSeconds') ?? DEFAULT_TOKEN_SECONDS));
    parts.push({ type: 'serviceAccountToken', audience: token.string('audience') ?? '', lifetime, path: insidePath(token) });
  }
  if (parts.length === 0) source.problem('', 'the lab knows configMap, secret, downwardAPI and serviceAccountToken sources');
  return parts;
}

function keysOf(type: 'configMap' | 'secret', source: Fields, nameField: string): ProjectedPart {
  const items: KeyToPath[] = source.list('items').map((item) => ({ key: item.requiredString('key'), path: insidePath(item) }));
  return { type, name: source.requiredString(nameField), optional: source.boolean('optional') ?? false, items };
}

function downwardOf(source: Fields): ProjectedPart {
  const items = source
    .list('items')
    .map((item) => ({ path: insidePath(item), fieldPath: item.object('fieldRef').requiredString('fieldPath') }));
  return { type: 'downwardAPI', items };
}

function insidePath(item: Fields): string {
  const path = item.requiredString('path');
  if (path.startsWith('/') || path.split('/').includes('..')) item.problem('path', 'must stay inside the volume');
  return path;
}
