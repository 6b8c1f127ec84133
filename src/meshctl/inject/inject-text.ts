import type { NamespaceChoice } from '../../injection/decision.ts';
import { type InjectionContext, injectPod } from '../../injection/inject.ts';
import { isRecord, isStringMap, type Labels } from '../../injection/shape.ts';
import { mapPods, type Workload } from '../../injection/workload.ts';
import { MeshError, type Problem } from '../../lib/errors.ts';
import { type Chunk, readChunk, splitDocuments } from '../../model/parse/document.ts';
import { printYaml } from '../../model/parse/yaml.ts';
import type { SourceText } from './files.ts';
import { contentEnd, isJson, joinTexts, withContent } from './manifest-text.ts';
import { spliceYaml } from './splice-yaml.ts';

export interface InjectTextOptions {
  readonly context: InjectionContext;
  /** Of objects that name none themselves. */
  readonly defaultNamespace: string;
  readonly force: boolean;
}

export interface InjectedText {
  readonly text: string;
  /** One line for each workload: what was done and why. */
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
}

interface ParsedDocument extends Chunk {
  readonly file: string;
  /** 1-based line of the content. */
  readonly contentLine: number;
  readonly value: unknown;
}

/**
 * Adds the sidecar to every workload of some manifests and leaves everything else as it was written. A namespace whose own
 * manifest is among them is judged by its label, as in the cluster; of any other the caller's wish counts.
 */
export function injectText(sources: readonly SourceText[], options: InjectTextOptions): InjectedText {
  const problems: Problem[] = [];
  const files = sources.map(({ name, text }) => splitDocuments(text).map((chunk) => parse(chunk, name, problems)));
  const namespaces = new Map(files.flat().flatMap(({ value }) => namespacesIn(value)));
  const notes: string[] = [];
  const change = (document: ParsedDocument) => {
    const inject = (workload: Workload) =>
      injectWorkload(workload, choiceFor(workload, namespaces, options), options.context, notes);
    return collect(document, problems, () => changed(document, mapPods(document.value, options.defaultNamespace, inject)));
  };
  const texts = files.map((documents) => documents.map(change).join(''));
  return { text: joinTexts(texts), notes, problems };
}

function parse(chunk: Chunk, file: string, problems: Problem[]): ParsedDocument {
  const read = readChunk(chunk);
  problems.push(...read.problems.map((problem) => ({ file, ...problem })));
  const [document] = read.documents;
  return { ...chunk, file, value: document?.value, contentLine: document?.lineOf('') ?? chunk.line };
}

function namespacesIn(value: unknown): (readonly [string, Labels])[] {
  if (!isRecord(value)) return [];
  if (value['kind'] === 'List' && Array.isArray(value['items'])) return value['items'].flatMap(namespacesIn);
  const { apiVersion, kind, metadata } = value;
  if (apiVersion !== 'v1' || kind !== 'Namespace' || !isRecord(metadata) || typeof metadata['name'] !== 'string') return [];
  const labels = metadata['labels'] ?? {};
  return [[metadata['name'], isStringMap(labels) ? labels : {}]];
}

function choiceFor(workload: Workload, namespaces: ReadonlyMap<string, Labels>, { force }: InjectTextOptions): NamespaceChoice {
  if (force) return { by: 'force' };
  const labels = namespaces.get(workload.namespace);
  return labels === undefined ? { by: 'caller' } : { by: 'labels', labels };
}

/** The injected pod, or undefined when it stays as it is. */
function injectWorkload(workload: Workload, chosen: NamespaceChoice, context: InjectionContext, notes: string[]): unknown {
  const result = injectPod(workload.pod, { name: workload.namespace, chosen }, context);
  switch (result.type) {
    case 'skipped':
      notes.push(`${workload.title}: not injected, ${result.reason}`);
      return undefined;
    case 'injected':
      notes.push(`${workload.title}: ${result.patch.length === 0 ? 'already injected' : 'injected'}, ${result.reason}`);
      return result.patch.length === 0 ? undefined : result.pod;
  }
}

function changed(document: ParsedDocument, value: unknown): string {
  if (value === document.value) return document.text;
  const spliced = spliceYaml(document.text, contentEnd(document.text), document.value, value);
  if (spliced !== undefined) return spliced;
  return withContent(document.text, isJson(document.text) ? `${JSON.stringify(value, undefined, 2)}\n` : printYaml(value));
}

function collect(document: ParsedDocument, problems: Problem[], work: () => string): string {
  try {
    return work();
  } catch (error) {
    problems.push({ file: document.file, line: document.contentLine, path: '', message: MeshError.from(error).message });
    return document.text;
  }
}
