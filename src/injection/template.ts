import { Liquid, type Template } from 'liquidjs';
import { MeshError } from '../lib/errors.ts';
import { MARK_CHARACTERS, mark, markTag, substitution } from './marks.ts';
import { isRecord, type JsonObject } from './shape.ts';
import { parseYaml } from './yaml.ts';

/**
 * A YAML document with Liquid tags. The YAML parser never sees a value: every `{{ output }}` prints a mark, the text is
 * parsed, and then the marks in it are replaced by the values. So whatever a pod's annotations, labels and names contain,
 * they stay the one scalar, or the part of a text, that the template's author made of them, inside quotes as well as outside
 * (where escaping would not do). A plain scalar that is one output and nothing else becomes the value itself, of its own type; a
 * quoted one is a text.
 */
export interface CompiledTemplate {
  /** Throws MeshError `invalid` when the template asks for something unknown or yields no YAML mapping. */
  render(variables: JsonObject): JsonObject;
}

/** Tags that only branch, repeat and name values; the others print past the marks or read files. */
export const TAGS: readonly string[] = ['if', 'unless', 'case', 'for', 'break', 'continue', 'assign', 'comment', '#'];
/** Filters that are pure functions of their input; `raw` would print past the marks, others read clocks or are of no use here. */
export const FILTERS: readonly string[] = [
  ...['default', 'append', 'prepend', 'replace', 'downcase', 'upcase', 'strip', 'truncate', 'split', 'join'],
  ...['first', 'last', 'size', 'concat', 'compact', 'uniq', 'sort', 'map', 'where', 'plus', 'minus'],
];
/** What is different for every pod; whatever prints nothing of it is rendered once for all pods with the same other variables. */
const PER_POD = 'pod';
/** Tags that reach beyond themselves, into what follows. */
const FAR_REACHING = /\{%-?\s*(assign|break|continue)\b/;
/** Kept: so many sets of the other variables, their texts of at most so many characters, and for each so many shapes of documents. */
const BASES_LIMIT = 16;
const MAX_KEY = 16_384;
const SHAPES_LIMIT = 16;

/** Consecutive parts of a template, all of which print something of the pod, or none. */
interface Run {
  readonly perPod: boolean;
  readonly nodes: Template[];
}

/** What a template yields for one set of variables other than the pod's. */
interface Base {
  /** By run; of those per pod, nothing. */
  readonly texts: readonly string[];
  readonly values: readonly unknown[];
  /** Documents by the texts of the runs per pod, parsed once: values are no part of a text, so that there are few. */
  readonly documents: Map<string, (values: readonly unknown[]) => unknown>;
}

/** Compiles the text of a template. Throws MeshError `invalid` with the line when it is no valid Liquid. */
export function compileTemplate(text: string): CompiledTemplate {
  if (MARK_CHARACTERS.test(text))
    throw new MeshError('invalid', 'the template contains the private characters U+E000 or U+E001, which mark values');
  let values: unknown[] = [];
  const engine = restrictedEngine((value) => mark(values.push(value) - 1));
  const runs = attempt(() => runsOf(engine, text));
  const bases = new Map<string, Base>();

  /** The texts of the runs that are per pod, or of the others; their values go to `values`. */
  function render(perPod: boolean, variables: JsonObject): readonly string[] {
    return attempt(() => runs.map((run) => (run.perPod === perPod ? renderText(engine, run.nodes, variables) : '')));
  }

  function baseFor(variables: JsonObject): Base {
    const key = JSON.stringify({ ...variables, [PER_POD]: undefined });
    const known = bases.get(key);
    if (known !== undefined) return known;
    values = [];
    const base = { texts: render(false, variables), values, documents: new Map() };
    if (key.length <= MAX_KEY) bases.set(key, base);
    const [oldest] = bases.size > BASES_LIMIT ? bases.keys() : [];
    if (oldest !== undefined) bases.delete(oldest);
    return base;
  }

  return {
    render(variables) {
      const base = baseFor(variables);
      values = [...base.values];
      const texts = render(true, variables);
      const shape = texts.join('\0');
      let fill = base.documents.get(shape);
      if (fill === undefined) {
        const document = parseYaml(base.texts.map((shared, index) => `${shared}${texts[index]}`).join(''), markTag);
        fill = substitution(document, base.values);
        if (base.documents.size < SHAPES_LIMIT) base.documents.set(shape, fill);
      }
      const result = fill(values);
      if (!isRecord(result)) throw new MeshError('invalid', 'the template does not yield a YAML mapping');
      return result;
    },
  };
}

function runsOf(engine: Liquid, text: string): readonly Run[] {
  const nodes = engine.parse(text);
  const isWhole = FAR_REACHING.test(text);
  const runs: Run[] = [];
  for (const node of nodes) {
    const perPod = isWhole || Object.hasOwn(engine.analyzeSync([node], { partials: false }).globals, PER_POD);
    const last = runs.at(-1);
    if (last?.perPod === perPod) last.nodes.push(node);
    else runs.push({ perPod, nodes: [node] });
  }
  return runs;
}

function restrictedEngine(outputEscape: (value: unknown) => string): Liquid {
  const engine = new Liquid({ outputEscape, strictVariables: true, strictFilters: true, lenientIf: true, ownPropertyOnly: true });
  for (const tag of Object.keys(engine.tags)) if (!TAGS.includes(tag)) delete engine.tags[tag];
  for (const filter of Object.keys(engine.filters)) if (!FILTERS.includes(filter)) delete engine.filters[filter];
  return engine;
}

function renderText(engine: Liquid, template: Template[], variables: JsonObject): string {
  const rendered: unknown = engine.renderSync(template, variables);
  return String(rendered);
}

function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new MeshError('invalid', `the template is wrong: ${MeshError.from(error).message}`, error);
  }
}
