import { Redacted } from '../../lib/redacted.ts';
import type { Level } from './levels.ts';
import type { LogFields } from './logger.ts';

/** One log entry, before it becomes a line. */
export interface Entry {
  readonly time: Date;
  readonly level: Exclude<Level, 'none'>;
  readonly scope: string;
  readonly message: string;
  readonly fields: LogFields;
  /** `file:line` of the code that logged. */
  readonly caller?: string;
  readonly stack?: string;
}

const PLAIN = /^[^\s"=\\\p{C}]+$/u;

/** Tab-separated: time, level, scope, message, `name=value` fields. What comes from outside cannot break the line. */
export function formatPlain(entry: Entry): string {
  const fields = Object.entries(entry.fields).map(([name, value]) => `${name}=${plainValue(value)}`);
  const caller = entry.caller === undefined ? [] : [`caller=${plainValue(entry.caller)}`];
  const head = [
    entry.time.toISOString(),
    entry.level,
    entry.scope,
    escapeControls(entry.message),
    [...caller, ...fields].join(' '),
  ];
  const line = head.join('\t').trimEnd();
  return entry.stack === undefined ? line : `${line}\n${entry.stack}`;
}

/** One JSON object a line. The entry's own names win over fields of the same name. */
export function formatJson({ time, level, scope, message, fields, caller, stack }: Entry): string {
  const own = { time: time.toISOString(), level, scope, message };
  const extra = { ...(caller === undefined ? {} : { caller }), ...(stack === undefined ? {} : { stack }) };
  const rest = Object.entries(fields).filter(([name]) => !(name in own));
  return JSON.stringify({ ...own, ...extra, ...Object.fromEntries(rest.map(([name, value]) => [name, printable(value)])) });
}

function plainValue(value: unknown): string {
  const shown = printable(value);
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown);
  return PLAIN.test(text) ? text : escapeControls(JSON.stringify(text));
}

function escapeControls(text: string): string {
  return text.replace(/\p{C}/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** A value that JSON can hold: errors by their message, bytes by their number only, secrets redacted, cycles cut. */
function printable(value: unknown, parents: readonly unknown[] = []): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value !== 'object') return String(value);
  if (value instanceof Redacted) return value.toString();
  if (value instanceof Error) return errorText(value);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `<${value.byteLength} bytes>`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString();
  if (parents.includes(value)) return '<cycle>';
  const path = [...parents, value];
  if (Array.isArray(value)) return value.map((item) => printable(item, path));
  if (value instanceof Set) return [...value].map((item) => printable(item, path));
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return Object.fromEntries(entries.map(([name, item]) => [String(name), printable(item, path)]));
}

function errorText(error: Error): string {
  const cause = error.cause instanceof Error && !error.message.includes(error.cause.message) ? `: ${error.cause.message}` : '';
  return `${error.message}${cause}`;
}
