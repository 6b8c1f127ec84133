import { EVENT_ID, type Event, getScalarValue } from 'js-yaml';
import { joinPath, type Step } from './path.ts';

/**
 * Finds where the parts of a YAML document are written: the offset in the text of every JSON path, for a text that could be
 * read (so that every key is a scalar). What an alias stands for has the place of the alias.
 */
export function indexPositions(text: string, events: readonly Event[], documentIndex: number): ReadonlyMap<string, number> {
  const offsets = new Map<string, number>();
  const frames: Frame[] = [];
  let documents = -1;
  for (const event of events) {
    if (event.type === EVENT_ID.DOCUMENT) documents++;
    if (documents < documentIndex) continue;
    if (documents > documentIndex) break;
    if (event.type === EVENT_ID.DOCUMENT) continue;
    if (event.type === EVENT_ID.POP) {
      frames.pop();
      continue;
    }
    const parent = frames.at(-1);
    if (parent?.type === 'mapping' && parent.key === undefined) {
      readKey(text, event, parent);
      continue;
    }
    const path = parent === undefined ? '' : joinPath(parent.path, nextStep(parent));
    const offset = parent?.type === 'mapping' ? parent.keyOffset : (offsetOf(event) ?? parent?.start ?? 0);
    if (!offsets.has(path)) offsets.set(path, offset);
    if (event.type === EVENT_ID.SEQUENCE) frames.push({ type: 'sequence', path, next: 0, start: event.start });
    if (event.type === EVENT_ID.MAPPING) frames.push({ type: 'mapping', path, key: undefined, keyOffset: 0, start: event.start });
  }
  return offsets;
}

/** The offset of a document's content. */
export function contentOffset(events: readonly Event[], documentIndex: number): number {
  let documents = -1;
  for (const event of events) {
    if (event.type === EVENT_ID.DOCUMENT) documents++;
    else if (documents === documentIndex) return offsetOf(event) ?? 0;
  }
  return 0;
}

/** 1-based line of an offset. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

interface SequenceFrame {
  readonly type: 'sequence';
  readonly path: string;
  readonly start: number;
  next: number;
}

interface MappingFrame {
  readonly type: 'mapping';
  readonly path: string;
  readonly start: number;
  /** The key whose value comes next. */
  key: string | undefined;
  keyOffset: number;
}

type Frame = SequenceFrame | MappingFrame;

function readKey(text: string, event: Event, frame: MappingFrame): void {
  frame.key = event.type === EVENT_ID.SCALAR ? getScalarValue(text, event) : '';
  frame.keyOffset = offsetOf(event) ?? frame.start;
}

function nextStep(frame: Frame): Step {
  if (frame.type === 'sequence') return frame.next++;
  const key = frame.key ?? '';
  frame.key = undefined;
  return key;
}

/** Where an event's text begins; an empty scalar has no text. */
function offsetOf(event: Event): number | undefined {
  switch (event.type) {
    case EVENT_ID.SCALAR:
      return event.valueStart === -1 ? undefined : event.valueStart;
    case EVENT_ID.MAPPING:
    case EVENT_ID.SEQUENCE:
      return event.start;
    case EVENT_ID.ALIAS:
      return event.anchorStart;
    default:
      return undefined;
  }
}

const LAST_STEP = /(?:(?:^|\.)[A-Za-z_$][A-Za-z0-9_$-]*|\[(?:\d+|"(?:[^"\\]|\\.)*")\])$/;

/** The offset of a path, or of the nearest part around it that is written down. */
export function findOffset(offsets: ReadonlyMap<string, number>, path: string): number {
  for (let rest = path; rest !== ''; rest = rest.replace(LAST_STEP, '')) {
    const offset = offsets.get(rest);
    if (offset !== undefined) return offset;
    if (!LAST_STEP.test(rest)) break;
  }
  return offsets.get('') ?? 0;
}
