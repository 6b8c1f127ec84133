import type { Level } from './levels.ts';
import type { LogFields } from './logger.ts';
import { printable, printableText } from './printable.ts';

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
/** Controls that JSON lets through and terminals obey: DEL and C1. */
const TERMINAL_CONTROLS = /[\u007f-\u009f]/g;

/** Tab-separated: time, level, scope, message, `name=value` fields. What comes from outside cannot break the line. */
export function formatPlain(entry: Entry): string {
  const fields = Object.entries(entry.fields).map(([name, value]) => `${name}=${plainValue(value)}`);
  const caller = entry.caller === undefined ? [] : [`caller=${plainValue(entry.caller)}`];
  const head = [
    entry.time.toISOString(),
    entry.level,
    entry.scope,
    escapeControls(printableText(entry.message)),
    [...caller, ...fields].join(' '),
  ];
  const line = head.join('\t').trimEnd();
  return entry.stack === undefined ? line : `${line}\n${entry.stack}`;
}

/** One JSON object a line. The entry's own names win over fields of the same name. */
export function formatJson({ time, level, scope, message, fields, caller, stack }: Entry): string {
  const own = { time: time.toISOString(), level, scope, message: printableText(message) };
  const extra = { ...(caller === undefined ? {} : { caller }), ...(stack === undefined ? {} : { stack }) };
  const rest = Object.entries(fields).filter(([name]) => !(name in own) && !(name in extra));
  const text = JSON.stringify({ ...own, ...extra, ...Object.fromEntries(rest.map(([name, value]) => [name, printable(value)])) });
  return text.replace(TERMINAL_CONTROLS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function plainValue(value: unknown): string {
  const shown = printable(value);
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown);
  return PLAIN.test(text) ? text : escapeControls(JSON.stringify(text));
}

function escapeControls(text: string): string {
  return text.replace(/\p{C}/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}
