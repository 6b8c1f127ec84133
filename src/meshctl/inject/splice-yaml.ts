/** Changes a YAML document where its value has changed; the rest of its text stays, comments, quotes, spaces and all. */
import { diff } from '../../injection/patch.ts';
import { isRecord } from '../../injection/shape.ts';
import { printYaml, readYaml } from '../../model/parse/yaml.ts';
import { type YamlEntry, type YamlNode, yamlTree } from './yaml-tree.ts';

/** Empty lines and comments. */
const FILLING = /(?:^[ \t]*(?:#[^\n]*)?\r?\n)*(?:^[ \t]*#[^\n]*)?$(?![\s\S])/m;

/**
 * The text with the new value in place of the old one. `end` is the offset where the content ends. Undefined when the document is
 * written in a way in which parts cannot be exchanged: in flow style, with anchors, tags, or two entries on a line.
 */
export function spliceYaml(text: string, end: number, from: unknown, to: unknown): string | undefined {
  const read = readYaml(text);
  const root = read.ok ? yamlTree(text, read.value.events) : undefined;
  if (root === undefined || root.type === 'leaf') return undefined;
  const spliced = new Splicer(text).node(root, text.slice(0, root.start), from, to, end) + text.slice(end);
  // What the text means has the last word on whether the parts were the right ones.
  const result = readYaml(spliced);
  return result.ok && result.value.values.length === 1 && diff(result.value.values[0], to).length === 0 ? spliced : undefined;
}

/** A key with comments below it, which belong to the first thing that follows. */
const HEAD_WITH_COMMENTS = /^([^\n]*\n)((?:[ \t]*(?:#[^\n]*)?\n)+)[ \t]*$/;

/** A part of a list or mapping as it was, and what it is now; what was not there before has no node. */
interface Part {
  readonly node?: YamlNode;
  readonly start: number;
  readonly from: unknown;
  readonly to: unknown;
  /** As it is printed where it is new. */
  readonly print: () => string;
}

type YamlBlock = Exclude<YamlNode, { type: 'leaf' }>;

class Splicer {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The new text of a block, after the head that it had, to `end`, the start of the line of what follows. */
  node(node: YamlBlock, head: string, from: unknown, to: unknown, end: number): string {
    const parts = node.type === 'mapping' ? mappingParts(node.entries, from, to) : this.#sequenceParts(node, from, to);
    const source = this.#sourceParts(node, end);
    const indent = ' '.repeat(node.start - this.#lineStart(node.start));
    const lines = parts.map((part) => {
      if (part.node === undefined) return indentedBy(indent, part.print());
      const place = source.findIndex(({ start }) => start === part.start);
      const text = this.#part(part, part.node, source[place]?.end ?? end).replace(/(?<!\n)$/, '\n');
      // Comments below the last part of the old block stay below the new one; those of parts that are gone stay where they were.
      const isLast = place === source.length - 1;
      const filling = isLast ? this.#fillingOf(part.start, end) : '';
      const kept = filling !== '' && text.endsWith(filling) ? text.slice(0, text.length - filling.length) : text;
      const isInside = source.slice(place + 1).some(({ start }) => parts.some((other) => other.start === start));
      return isInside ? kept + this.#fillingBelow(source, parts, place) : kept;
    });
    const last = source.at(-1);
    const lastKnown = source.findLastIndex(({ start }) => parts.some((part) => part.start === start));
    const tail =
      last === undefined || lastKnown === source.length - 1
        ? this.#fillingOf(last?.start ?? end, end)
        : this.#fillingBelow(source, parts, lastKnown);
    const firstKnown = parts.findIndex((part) => part.node !== undefined);
    const [, above, comments] = HEAD_WITH_COMMENTS.exec(head) ?? [];
    if (above === undefined || firstKnown <= 0) return head + lines.join(indent) + tail;
    const known = indent + lines.slice(firstKnown).join(indent);
    return `${above}${indent}${lines.slice(0, firstKnown).join(indent)}${comments}${known}${tail}`;
  }

  /** Where each part of a block as it was stands. */
  #sourceParts(node: YamlBlock, end: number): readonly { readonly start: number; readonly end: number }[] {
    const starts = node.type === 'mapping' ? node.entries.map(({ start }) => start) : this.#dashesOf(node);
    const ends = [...starts.slice(1).map((start) => this.#lineStart(start)), end];
    return starts.map((start, index) => ({ start, end: ends[index] ?? end }));
  }

  #dashesOf(node: Extract<YamlNode, { type: 'sequence' }>): readonly number[] {
    return node.items.map((item) => this.#dashOf(node, item));
  }

  /** The comments of parts right after one that are not there any more. */
  #fillingBelow(
    source: readonly { readonly start: number; readonly end: number }[],
    parts: readonly Part[],
    place: number,
  ): string {
    let filling = '';
    for (const { start, end } of source.slice(place + 1)) {
      if (parts.some((part) => part.start === start)) break;
      filling += this.#fillingOf(start, end);
    }
    return filling;
  }

  #part({ start, from, to, print }: Part, node: YamlNode, end: number): string {
    if (Object.is(from, to) || diff(from, to).length === 0) return this.#text.slice(start, end);
    const isBlock = node.type !== 'leaf' && (node.type === 'mapping' ? isRecord(to) : Array.isArray(to));
    if (isBlock) return this.node(node, this.#text.slice(start, node.start), from, to, end);
    const indent = ' '.repeat(start - this.#lineStart(start));
    return indentedBy(indent, print()) + this.#fillingOf(start, end);
  }

  #sequenceParts(node: Extract<YamlNode, { type: 'sequence' }>, from: unknown, to: unknown): Part[] {
    const old = Array.isArray(from) ? from : [];
    const places = new Map(old.map((item, index) => [nameOf(item, index), index]));
    return (Array.isArray(to) ? to : []).map((item, index) => {
      const place = places.get(nameOf(item, index)) ?? -1;
      const known = node.items[place];
      const print = (): string => printYaml([item]);
      if (known === undefined) return { start: -1, from: undefined, to: item, print };
      return { node: known, start: this.#dashOf(node, known), from: old[place], to: item, print };
    });
  }

  /** The comments and empty lines at the end of a part. */
  #fillingOf(start: number, end: number): string {
    const part = this.#text.slice(start, end);
    const afterFirstLine = part.indexOf('\n') + 1;
    return afterFirstLine === 0 ? '' : (FILLING.exec(part.slice(afterFirstLine))?.[0] ?? '');
  }

  #dashOf(sequence: YamlNode, item: YamlNode): number {
    const column = sequence.start - this.#lineStart(sequence.start);
    for (let line = this.#lineStart(item.start); line > sequence.start; line = this.#lineStart(line - 1)) {
      if (this.#text[line + column] === '-') return line + column;
    }
    return sequence.start;
  }

  #lineStart(offset: number): number {
    return offset <= 0 ? 0 : this.#text.lastIndexOf('\n', offset - 1) + 1;
  }
}

/** What was there before keeps its place, whatever the order of the new value is. */
function mappingParts(entries: readonly YamlEntry[], from: unknown, to: unknown): Part[] {
  const [old, now] = [isRecord(from) ? from : {}, isRecord(to) ? to : {}];
  const has = (key: string): boolean => Object.hasOwn(now, key) && now[key] !== undefined;
  const print = (key: string) => (): string => printYaml({ [key]: now[key] });
  const known = entries
    .filter(({ key }) => has(key))
    .map(({ key, start, value }) => ({ node: value, start, from: old[key], to: now[key], print: print(key) }));
  const isNew = (key: string): boolean => has(key) && !entries.some((entry) => entry.key === key);
  const added = Object.keys(now).filter(isNew);
  return [...known, ...added.map((key) => ({ start: -1, from: undefined, to: now[key], print: print(key) }))];
}

/** Lines, of which the first is indented by where it is put. */
const indentedBy = (indent: string, lines: string): string => lines.replaceAll(/\n(?=[^\n])/g, `\n${indent}`);

const nameOf = (item: unknown, index: number): string =>
  isRecord(item) && typeof item['name'] === 'string' ? `name ${item['name']}` : `index ${index}`;
