/** Where the blocks of a YAML document stand in its text. */
import { COLLECTION_STYLE, EVENT_ID, type Event, getScalarValue } from 'js-yaml';

/** A mapping or list in block style, line by line; everything else is a `leaf`, which is known as a whole only. */
export type YamlNode =
  | { readonly type: 'mapping'; readonly start: number; readonly entries: readonly YamlEntry[] }
  | { readonly type: 'sequence'; readonly start: number; readonly items: readonly YamlNode[] }
  | { readonly type: 'leaf'; readonly start: number };

export interface YamlEntry {
  readonly key: string;
  /** Offset of the key. */
  readonly start: number;
  readonly value: YamlNode;
}

/** The tree of the only document; undefined for one with anchors, aliases or tags, whose parts depend on others. */
export function yamlTree(text: string, events: readonly Event[]): YamlNode | undefined {
  let at = events.findIndex((event) => event.type !== EVENT_ID.DOCUMENT);
  let isPlain = at >= 0;

  function node(): YamlNode {
    const event = events[at++];
    if (event === undefined || event.type === EVENT_ID.ALIAS || event.type === EVENT_ID.DOCUMENT || event.type === EVENT_ID.POP) {
      isPlain = false;
      return { type: 'leaf', start: 0 };
    }
    if (event.anchorStart !== -1 || event.tagStart !== -1) isPlain = false;
    if (event.type === EVENT_ID.SCALAR) return { type: 'leaf', start: event.valueStart };
    const { start, style } = event;
    const made: YamlNode =
      event.type === EVENT_ID.SEQUENCE
        ? { type: 'sequence', start, items: items() }
        : { type: 'mapping', start, entries: entries() };
    return style === COLLECTION_STYLE.BLOCK ? made : { type: 'leaf', start };
  }

  function isEnd(): boolean {
    const event = events[at];
    if (event !== undefined && event.type !== EVENT_ID.POP) return false;
    at++;
    return true;
  }

  function items(): YamlNode[] {
    const list: YamlNode[] = [];
    while (!isEnd()) list.push(node());
    return list;
  }

  function entries(): YamlEntry[] {
    const list: YamlEntry[] = [];
    while (!isEnd()) {
      const event = events[at];
      const key = event?.type === EVENT_ID.SCALAR ? getScalarValue(text, event) : '';
      if (event?.type !== EVENT_ID.SCALAR || key === '<<') isPlain = false;
      const { start } = node();
      list.push({ key, start, value: node() });
    }
    return list;
  }

  const root = node();
  return isPlain ? root : undefined;
}
