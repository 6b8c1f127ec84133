import type { Problem } from '../../lib/errors.ts';
import type { Kinds } from '../kinds.ts';
import type { KubeObject } from '../object.ts';
import { locate, readDocuments } from './document.ts';
import { DEFAULT_NAMESPACE, expandList, isMapping, type KindedObject, nestProblem, parseObject } from './object.ts';

/** One object of a manifest file, and where it is written. */
export interface Manifest extends KindedObject {
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** The line of a field by its path in the object, or of what is nearest to it. */
  readonly lineOf: (path: string) => number;
}

export interface ManifestOptions {
  readonly kinds: Kinds;
  /** Name of the text in problems. */
  readonly file: string;
  /** The namespace asked for: what objects that name none get, and what the others must name; empty: `default`, and any. */
  readonly namespace: string;
  /** What is wrong with an object beyond what all kinds have in common. */
  readonly validate: (object: KubeObject) => readonly Problem[];
}

export interface ReadManifests {
  readonly manifests: readonly Manifest[];
  readonly problems: readonly Problem[];
}

/** Reads the objects of a YAML or JSON text, Lists expanded; each problem with its file, line and JSON path. */
export function readManifests(text: string, options: ManifestOptions): ReadManifests {
  const { documents, problems: unread } = readDocuments(text);
  const manifests: Manifest[] = [];
  const problems: Problem[] = unread.map((problem) => ({ ...problem, file: options.file }));
  for (const document of documents) {
    for (const { value, path } of expandList(document.value)) {
      const read = readOne(value, options);
      problems.push(...read.problems.map((problem) => locate(nestProblem(problem, path), document, options.file)));
      const lineOf = (inner: string): number => document.lineOf(nestProblem({ path: inner, message: '' }, path).path);
      if (read.found !== undefined) manifests.push({ ...read.found, file: options.file, line: document.lineOf(path), lineOf });
    }
  }
  return { manifests, problems };
}

function readOne(
  value: unknown,
  options: ManifestOptions,
): { readonly found?: KindedObject; readonly problems: readonly Problem[] } {
  const parsed = parseObject(value, options.kinds, options.namespace || DEFAULT_NAMESPACE);
  if (!parsed.ok) return { problems: [...parsed.problems, ...specProblems(value, options)] };
  const problems = [...checkNamespace(parsed.value, options.namespace), ...options.validate(parsed.value.object)];
  return problems.length === 0 ? { found: parsed.value, problems } : { problems };
}

/** Tells what is wrong further in as well, as far as the object can be recognised. */
function specProblems(value: unknown, { validate, kinds }: ManifestOptions): readonly Problem[] {
  if (!isMapping(value) || !isMapping(value.metadata)) return [];
  const isKnown = Object.values<KindedObject['kind']>({ ...kinds }).some(
    (kind) => kind.kind === value.kind && kind.apiVersion === value.apiVersion,
  );
  if (!isKnown) return [];
  return validate(value as KubeObject).filter(({ path }) => !path.startsWith('metadata'));
}

function checkNamespace({ kind, object }: KindedObject, wanted: string): readonly Problem[] {
  const own = object.metadata.namespace;
  if (!kind.namespaced || wanted === '' || own === undefined || own === wanted) return [];
  const message = `the namespace "${own}" is not the "${wanted}" that was asked for; remove this line, or ask for "${own}"`;
  return [{ path: 'metadata.namespace', message }];
}
