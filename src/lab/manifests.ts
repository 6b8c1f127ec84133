import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { formatProblem, MeshError, type Parsed, type Problem } from '../lib/errors.ts';
import type { Kinds } from '../model/kinds.ts';
import { describeObject, type KubeObject } from '../model/object.ts';
import { locate, readDocuments } from '../model/parse/document.ts';
import { type KindedObject, parseObject } from '../model/parse/object.ts';
import { parsePodSpec } from './kubelet/parse-pod-spec.ts';

export interface ManifestOptions {
  readonly kinds: Kinds;
  /** For objects that name none. */
  readonly namespace: string;
  readonly cwd: string;
  readonly stdin: Readable;
}

/** An object, and where it stands. */
export interface PlacedObject extends KindedObject {
  readonly file: string;
  /** The line of a field by its path, or of what is nearest to it. */
  readonly lineOf: (path: string) => number;
}

/** Reads manifests from files, directories and standard input (`-`). Throws `invalid` with every problem of all of them. */
export async function readManifests(sources: readonly string[], options: ManifestOptions): Promise<readonly PlacedObject[]> {
  const objects: PlacedObject[] = [];
  const problems: Problem[] = [];
  for (const { name, content } of await readSources(sources, options)) {
    const read = readDocuments(content);
    problems.push(...read.problems.map((problem) => ({ ...problem, file: name })));
    for (const document of read.documents) {
      if (document.value === null || document.value === undefined) continue;
      const parsed = parseManifest(document.value, options);
      if (parsed.ok) objects.push({ ...parsed.value, file: name, lineOf: document.lineOf });
      else problems.push(...parsed.problems.map((problem) => locate(problem, document, name)));
    }
  }
  if (problems.length > 0) throw new MeshError('invalid', problems.map(formatProblem).join('\n'));
  if (objects.length === 0) throw new MeshError('invalid', `no object found in ${sources.join(', ')}`);
  return objects;
}

/** Also checks what the lab's kubelet will have to run, so that a bad pod is refused here and not found out later. */
function parseManifest(value: unknown, { kinds, namespace }: ManifestOptions): Parsed<KindedObject> {
  const parsed = parseObject(value, kinds, namespace);
  if (!parsed.ok) return parsed;
  const { object } = parsed.value;
  if (object.kind === 'Pod') return withSpec(parsed, parsePodSpec(object), '');
  if (object.kind === 'Deployment') return withSpec(parsed, parsePodSpec(templateOf(object)), 'spec.template.');
  return parsed;
}

function withSpec(parsed: Parsed<KindedObject>, spec: Parsed<unknown>, prefix: string): Parsed<KindedObject> {
  if (spec.ok) return parsed;
  return { ok: false, problems: spec.problems.map((problem) => ({ ...problem, path: `${prefix}${problem.path}` })) };
}

function templateOf(deployment: KubeObject): KubeObject {
  const { spec } = deployment;
  const template = typeof spec === 'object' && spec !== null && 'template' in spec ? spec.template : undefined;
  const pod = typeof template === 'object' && template !== null ? template : {};
  return { ...pod, apiVersion: 'v1', kind: 'Pod', metadata: deployment.metadata };
}

interface Source {
  readonly name: string;
  readonly content: string;
}

async function readSources(sources: readonly string[], { cwd, stdin }: ManifestOptions): Promise<readonly Source[]> {
  const read: Source[] = [];
  for (const source of sources) {
    if (source === '-') read.push({ name: '(standard input)', content: await text(stdin) });
    else read.push(...manifestFiles(source, cwd).map((name) => ({ name, content: readFileSync(resolve(cwd, name), 'utf8') })));
  }
  return read;
}

/** A file itself; the YAML and JSON files of a directory, sorted. */
function manifestFiles(source: string, cwd: string): readonly string[] {
  try {
    if (!statSync(resolve(cwd, source)).isDirectory()) return [source];
    const files = readdirSync(resolve(cwd, source)).filter((name) => /\.(ya?ml|json)$/.test(name));
    return files.sort().map((name) => join(source, name));
  } catch (error) {
    throw new MeshError('not_found', `${source} cannot be read: ${MeshError.from(error).message}`, error);
  }
}

/** Namespaces first, workloads last, so that what a pod needs is there when it starts. */
export function inOrderOfUse(objects: readonly KindedObject[]): readonly KindedObject[] {
  const rank = ({ kind }: KindedObject): number => {
    if (kind.kind === 'Namespace') return 0;
    return kind.kind === 'Deployment' || kind.kind === 'Pod' ? 2 : 1;
  };
  return objects.toSorted((a, b) => rank(a) - rank(b) || (describeObject(a.object) < describeObject(b.object) ? -1 : 1));
}
