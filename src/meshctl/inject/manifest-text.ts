/** Manifests as text: what is not changed must come out as it went in, byte for byte. */

const BOUNDARY = /^(---|\.\.\.)(?=\s|$)/;
/** Directives, comments and empty lines, with the marker after them if it has no content of its own, and more comments. */
const HEAD = /^(?:(?:%[^\n]*|[ \t]*(?:#[^\n]*)?)\r?\n)*(?:---[ \t]*(?:#[^\n]*)?\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*)?/;
/** A marker that ends the document; without it a directive of the next one would be content. */
const END = /^\.\.\.(?=\s|$)[^\n]*\n?/m;

/** Whether a document is written as JSON, and should stay so. */
export function isJson(document: string): boolean {
  return document.slice(headOf(document).length).trimStart().startsWith('{');
}

/** The document with another content: its markers and the comments above its content stay. */
export function withContent(document: string, content: string): string {
  const head = headOf(document);
  const hasMarker = !document.slice(head.length).startsWith('---');
  return `${head}${hasMarker ? '' : '---\n'}${content}${END.exec(document)?.[0] ?? ''}`;
}

/** The offset where the content of a document ends: at the marker after it, or with the text. */
export function contentEnd(document: string): number {
  return END.exec(document)?.index ?? document.length;
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

function headOf(document: string): string {
  return HEAD.exec(document)?.[0] ?? '';
}
