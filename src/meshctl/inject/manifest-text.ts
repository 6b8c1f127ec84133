/**
 * Manifests as text: what is not changed must come out as it went in, byte for byte. A `---` or `...` at the start of a
 * line always ends a document, even inside a block scalar (YAML 1.2, 9.1.2), so lines are enough to find documents.
 */

export interface TextDocument {
  /** Everything from the line that begins the document to the next such line. All of them joined are the whole text. */
  readonly raw: string;
  /** 0-based line of the text at which `raw` begins. */
  readonly line: number;
}

const BOUNDARY = /^(---|\.\.\.)(?=\s|$)/;
const LINE = /[^\n]*\n|[^\n]+$/g;
/** A marker line without content, then comments and empty lines. */
const HEAD = /^(?:---[ \t]*(?:#[^\n]*)?\r?(?:\n|$))?(?:[ \t]*(?:#[^\n]*)?\r?\n)*/;

export function splitDocuments(text: string): readonly TextDocument[] {
  const documents: TextDocument[] = [];
  let lines: string[] = [];
  let begin = 0;
  const all = text.match(LINE) ?? [];
  for (const [index, line] of all.entries()) {
    if (BOUNDARY.test(line) && lines.length > 0) {
      documents.push({ raw: lines.join(''), line: begin });
      lines = [];
      begin = index;
    }
    lines.push(line);
  }
  if (lines.length > 0) documents.push({ raw: lines.join(''), line: begin });
  return documents;
}

/** Whether there is anything but markers, directives, comments and empty lines. */
export function hasContent({ raw }: TextDocument): boolean {
  return raw.split('\n').some((line) => !/^\s*(#.*)?$|^%|^(---|\.\.\.)\s*(#.*)?$/.test(line.trimEnd()));
}

/** Whether the document is written as JSON, and should stay so. */
export function isJson({ raw }: TextDocument): boolean {
  return raw.slice(headOf(raw).length).trimStart().startsWith('{');
}

/** The document with another content: its marker and the comments above its content stay. */
export function withContent({ raw }: TextDocument, content: string): string {
  const head = headOf(raw);
  const marker = head === '' && raw.startsWith('---') ? '---\n' : head;
  return `${marker}${content}`;
}

/** The texts of several files as one stream of documents. */
export function joinTexts(texts: readonly string[]): string {
  let joined = '';
  for (const text of texts) {
    if (text.trim() === '') continue;
    if (joined !== '' && !joined.endsWith('\n')) joined += '\n';
    if (joined !== '' && !BOUNDARY.test(text)) joined += '---\n';
    joined += text;
  }
  return joined;
}

function headOf(raw: string): string {
  return HEAD.exec(raw)?.[0] ?? '';
}
