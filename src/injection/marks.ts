/** Marks stand for values in the text of a document that is parsed before it gets them. */
import { defineScalarTag, NOT_RESOLVED } from 'js-yaml';
import { isRecord } from './shape.ts';

/** Characters that a text with marks must not have itself. */
export const MARK_CHARACTERS = /[\uE000\uE001]/;
const MARKS = /\uE000(\d+)\uE001/g;
const ONE_MARK = /^\uE000(\d+)\uE001$/;

/** Stands for the value of this index. */
export function mark(index: number): string {
  return `\uE000${index}\uE001`;
}

/** A plain scalar that is one mark. */
class Mark {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }
}

/** Has the YAML parser know such scalars. */
export const markTag = defineScalarTag<Mark>('tag:yaml.org,2002:mark', {
  implicit: true,
  implicitFirstChars: ['\uE000'],
  resolve: (source) => {
    const found = ONE_MARK.exec(source);
    return found === null ? NOT_RESOLVED : new Mark(Number(found[1]));
  },
  identify: (value) => value instanceof Mark,
});

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

/** A document, or a part of one, whose marks are replaced: by values that are known already, or by those of each time. */
type Part =
  | { readonly type: 'fixed'; readonly value: unknown }
  | { readonly type: 'open'; readonly fill: (values: readonly unknown[]) => unknown };

/**
 * Replaces the marks of a document by values. The first ones are `fixed`; what depends on no other is made once, and shared by all that the
 * result gives for the whole lists of values, which must begin with the same.
 */
export function substitution(document: unknown, fixed: readonly unknown[]): (values: readonly unknown[]) => unknown {
  return filler(partOf(document, fixed, 'pod'));
}

function filler(part: Part): (values: readonly unknown[]) => unknown {
  return part.type === 'fixed' ? () => part.value : part.fill;
}

function partOf(node: unknown, fixed: readonly unknown[], place: Place): Part {
  if (node instanceof Mark) {
    const { index } = node;
    return fixedOrOpen(index < fixed.length, fixed, (values) => literal(values[index], place));
  }
  if (typeof node === 'string') return textOf(node, fixed, place);
  if (Array.isArray(node)) {
    const items = node.map((item) => partOf(item, fixed, place));
    const fills = items.map(filler);
    return fixedOrOpen(items.every(isFixed), fixed, (values) => fills.map((fill) => fill(values)));
  }
  if (!isRecord(node)) return { type: 'fixed', value: node };
  const fields = Object.entries(node).map(([key, value]): readonly [Part, Part] => [
    textOf(key, fixed, 'pod'),
    partOf(value, fixed, placeOf(key, place)),
  ]);
  const fills = fields.map(([key, value]) => [filler(key), filler(value)] as const);
  return fixedOrOpen(fields.flat().every(isFixed), fixed, (values) =>
    Object.fromEntries(fills.map(([key, value]) => [key(values), value(values)])),
  );
}

const isFixed = ({ type }: Part): boolean => type === 'fixed';

function fixedOrOpen(isKnown: boolean, fixed: readonly unknown[], fill: (values: readonly unknown[]) => unknown): Part {
  return isKnown ? { type: 'fixed', value: fill(fixed) } : { type: 'open', fill };
}

function textOf(text: string, fixed: readonly unknown[], place: Place): Part {
  const indexes = [...text.matchAll(MARKS)].map(([, index]) => Number(index));
  return fixedOrOpen(
    indexes.every((index) => index < fixed.length),
    fixed,
    (values) => fillIn(text, values, place),
  );
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
  return text.replace(MARKS, (_, index) => asText(literal(values[Number(index)], place)));
}

function asText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
