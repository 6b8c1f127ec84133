import { defineScalarTag, NOT_RESOLVED } from 'js-yaml';
import { Liquid, type Template } from 'liquidjs';
import { MeshError } from '../lib/errors.ts';
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
/** Each shape of rendered text is parsed once; pods have few shapes, since values are no part of the text. */
const PARSED_LIMIT = 64;
const MARK = /\uE000(\d+)\uE001/g;
const ONE_MARK = /^\uE000(\d+)\uE001$/;

/** A plain scalar that is one mark. */
class Mark {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }
}

const markTag = defineScalarTag<Mark>('tag:yaml.org,2002:mark', {
  implicit: true,
  implicitFirstChars: ['\uE000'],
  resolve: (source) => {
    const mark = ONE_MARK.exec(source);
    return mark === null ? NOT_RESOLVED : new Mark(Number(mark[1]));
  },
  identify: (value) => value instanceof Mark,
});

/** Compiles the text of a template. Throws MeshError `invalid` with the line when it is no valid Liquid. */
export function compileTemplate(text: string): CompiledTemplate {
  if (/[\uE000\uE001]/.test(text))
    throw new MeshError('invalid', 'the template contains the private characters U+E000 or U+E001, which mark values');
  let values: unknown[] = [];
  const engine = restrictedEngine((value) => `\uE000${values.push(value) - 1}\uE001`);
  const template = attempt(() => engine.parse(text));
  const parsed = new Map<string, unknown>();
  return {
    render(variables) {
      values = [];
      const rendered = attempt(() => renderText(engine, template, variables));
      const document = parsed.get(rendered) ?? parseYaml(rendered, markTag);
      if (parsed.size < PARSED_LIMIT) parsed.set(rendered, document);
      const result = substitute(document, values);
      if (!isRecord(result)) throw new MeshError('invalid', 'the template does not yield a YAML mapping');
      return result;
    },
  };
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

/** Where in a pod a value stands, as far as the kubelet treats it differently there. */
type Place = 'pod' | 'container' | 'environment' | 'expanded';

/** https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/ */
function placeOf(key: string, place: Place): Place {
  switch (place) {
    case 'pod':
      return key === 'containers' || key === 'initContainers' ? 'container' : 'pod';
    case 'container':
      if (key === 'args' || key === 'command') return 'expanded';
      // The commands of hooks are run as they are.
      return key === 'env' ? 'environment' : key === 'lifecycle' ? 'pod' : 'container';
    case 'environment':
      return key === 'value' ? 'expanded' : 'environment';
    case 'expanded':
      return 'expanded';
  }
}

function substitute(node: unknown, values: readonly unknown[], place: Place = 'pod'): unknown {
  if (node instanceof Mark) return literal(values[node.index], place);
  if (typeof node === 'string') return fillIn(node, values, place);
  if (Array.isArray(node)) return node.map((item) => substitute(item, values, place));
  if (!isRecord(node)) return node;
  const fields = Object.entries(node).map(([key, value]) => [
    fillIn(key, values, 'pod'),
    substitute(value, values, placeOf(key, place)),
  ]);
  return Object.fromEntries(fields);
}

/** A dollar sign of a value is one, and begins no reference to a variable of the container, some of which may be secrets. */
function literal(value: unknown, place: Place): unknown {
  if (place !== 'expanded') return value;
  if (typeof value === 'string') return value.replaceAll('$', '$$$$');
  return Array.isArray(value) ? value.map((item) => literal(item, place)) : value;
}

/** One pass: a value that itself looks like a mark stays as it is. */
function fillIn(text: string, values: readonly unknown[], place: Place): string {
  if (!text.includes('\uE000')) return text;
  return text.replace(MARK, (_, index) => asText(literal(values[Number(index)], place)));
}

function asText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
