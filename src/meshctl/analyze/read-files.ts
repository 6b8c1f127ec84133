/** Manifests to be analysed: everything in them, as far as it can be read, with where it stands. */
import type { Host } from '../../io/host.ts';
import { formatProblem, MeshError, type Problem } from '../../lib/errors.ts';
import { findKind, type Kinds } from '../../model/kinds.ts';
import { describeObject, type KubeObject } from '../../model/object.ts';
import { readDocuments, type SourceDocument } from '../../model/parse/document.ts';
import { DEFAULT_NAMESPACE, expandList, isMapping, nestProblem, parseObject } from '../../model/parse/object.ts';
import { allKinds } from '../../rules/config/kinds.ts';
import { readSources } from '../input.ts';
import { type Finding, type Place, type Subject, subjectOf } from './finding.ts';
import { ANALYSED_KINDS, type AnalysedKind, type MeshObjects } from './mesh-objects.ts';
import { podsOfTemplates } from './pod-templates.ts';
import { rulePartOf } from './rule-set.ts';

export interface FileObjects {
  readonly objects: MeshObjects;
  /** Those that mixs reads. */
  readonly rules: readonly KubeObject[];
  /** Pods that the workloads in the files would make. */
  readonly pods: readonly KubeObject[];
  /** Where an object, or a path in it, stands; undefined for objects that no file has. */
  readonly placeOf: (subject: string, path: string) => Place | undefined;
  /** What is wrong with the files themselves. */
  readonly findings: readonly Finding[];
  /** Objects of kinds that the mesh has nothing to do with. */
  readonly skipped: number;
}

type Placer = (path: string) => Place;

/** Reads files, directories and `-`. Throws MeshError `not_found` and `invalid` for files that cannot be read at all. */
export async function readFileObjects(filenames: readonly string[], namespace: string, host: Host): Promise<FileObjects> {
  const reader = new FileReader(allKinds(host.names), namespace || DEFAULT_NAMESPACE);
  for (const { name, text } of await readSources(filenames, host)) reader.read(name, text);
  return reader.result();
}

class FileReader {
  readonly #kinds: Kinds;
  readonly #namespace: string;
  readonly #objects = new Map<AnalysedKind, KubeObject[]>();
  readonly #rules: KubeObject[] = [];
  readonly #pods: KubeObject[] = [];
  readonly #places = new Map<string, Placer>();
  readonly #findings: Finding[] = [];
  #skipped = 0;

  constructor(kinds: Kinds, namespace: string) {
    this.#kinds = kinds;
    this.#namespace = namespace;
  }

  read(file: string, text: string): void {
    const { documents, problems } = readDocuments(text);
    for (const problem of problems) {
      const place = { file, line: problem.line ?? 1 };
      const subject: Subject = { kind: 'File', name: `${file}:${place.line}` };
      this.#places.set(`File ${subject.name}`, () => place);
      this.#findings.push({ code: 'MESH101', subject, message: problem.message });
    }
    for (const document of documents) {
      for (const { value, path } of expandList(document.value)) this.#take(value, path, document, file);
    }
  }

  #take(value: unknown, base: string, document: SourceDocument, file: string): void {
    const place: Placer = (path) => ({ file, line: document.lineOf(nestProblem({ path, message: '' }, base).path) });
    const pods = this.#podsOf(value, place);
    const known = isMapping(value) && findKind(this.#kinds, String(value.apiVersion), String(value.kind)) !== undefined;
    if (!known && isMapping(value) && typeof value.kind === 'string' && typeof value.apiVersion === 'string') {
      if (pods.length === 0) this.#skipped += 1;
      return;
    }
    const parsed = parseObject(value, this.#kinds, this.#namespace);
    if (parsed.ok) this.#add(parsed.value.object, place);
    else for (const problem of parsed.problems) this.#refuse(value, problem, place);
  }

  #podsOf(value: unknown, place: Placer): readonly KubeObject[] {
    try {
      const pods = podsOfTemplates(value, this.#namespace);
      for (const pod of pods) this.#places.set(describeObject(pod), place);
      this.#pods.push(...pods);
      return pods;
    } catch (thrown) {
      this.#refuse(value, { path: '', message: MeshError.from(thrown).message }, place);
      return [];
    }
  }

  #add(object: KubeObject, place: Placer): void {
    const kind = ANALYSED_KINDS.find((name) => this.#kinds[name].kind === object.kind);
    if (kind === undefined && rulePartOf(object.kind) === undefined) return;
    const key = describeObject(object);
    const list = kind === undefined ? this.#rules : (this.#objects.get(kind) ?? []);
    if (list.some((other) => describeObject(other) === key)) {
      const [first, second] = [this.#places.get(key)?.(''), place('')];
      const message = `given at ${first?.file}:${first?.line} and at ${second.file}:${second.line}; nobody can say which one is meant`;
      this.#findings.push({ code: 'MESH103', subject: subjectOf(object), message });
      return;
    }
    list.push(object);
    if (kind !== undefined) this.#objects.set(kind, list);
    this.#places.set(key, place);
  }

  #refuse(value: unknown, problem: Problem, place: Placer): void {
    const at = place(problem.path);
    const kind = isMapping(value) && typeof value.kind === 'string' ? value.kind : 'File';
    const subject: Subject = { kind, name: `${at.file}:${at.line}` };
    this.#places.set(`${kind} ${subject.name}`, () => at);
    this.#findings.push({ code: 'MESH101', subject, message: formatProblem(problem) });
  }

  result(): FileObjects {
    const objects = Object.fromEntries(ANALYSED_KINDS.map((kind) => [kind, this.#objects.get(kind) ?? []]));
    return {
      objects: objects as unknown as MeshObjects,
      rules: this.#rules,
      pods: this.#pods,
      placeOf: (subject, path) => this.#places.get(subject)?.(path),
      findings: this.#findings,
      skipped: this.#skipped,
    };
  }
}
