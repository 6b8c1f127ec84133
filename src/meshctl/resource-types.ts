import { MeshError } from '../lib/errors.ts';
import { suggestion } from '../lib/nearest.ts';
import { groupOf, type Kinds } from '../model/kinds.ts';
import type { ResourceKind } from '../model/object.ts';

/** The short names that kubectl knows. */
const SHORT_NAMES: Readonly<Record<string, readonly string[]>> = {
  namespaces: ['ns'],
  services: ['svc'],
  pods: ['po'],
  nodes: ['no'],
  configmaps: ['cm'],
  serviceaccounts: ['sa'],
  deployments: ['deploy'],
};

/**
 * Finds the kind that a TYPE word names, as kubectl does: plural, singular, kind or short name, with or without the API group
 * (and version): `policies.authentication.mesh.io`, `policy`, `Pod`, `svc`, `deployments.v1.apps`. Throws MeshError `usage`.
 */
export function resolveType(word: string, kinds: Kinds): ResourceKind {
  const known = Object.values<ResourceKind>({ ...kinds });
  const wanted = word.toLowerCase();
  const found = known.find((kind) => namesOf(kind).includes(wanted));
  if (found !== undefined) return found;
  throw new MeshError('usage', `unknown type "${word}"${suggestion(word, known.flatMap(namesOf))}`);
}

/** `policy.authentication.mesh.io`, `service`: how result lines name a type. */
export function typeName(kind: ResourceKind): string {
  const group = groupOf(kind);
  const name = kind.kind.toLowerCase();
  return group === '' ? name : `${name}.${group}`;
}

function namesOf(kind: ResourceKind): readonly string[] {
  const group = groupOf(kind);
  const version = kind.apiVersion.replace(/^.*\//, '');
  const words = [kind.plural, kind.kind.toLowerCase(), ...(SHORT_NAMES[kind.plural] ?? [])];
  if (group === '') return words;
  return words.flatMap((word) => [word, `${word}.${group}`, `${word}.${version}.${group}`]);
}
