/** PEM armour (RFC 7468), strict on reading: input comes from files and from the network. */
import type { Parsed } from '../../lib/errors.ts';

export interface PemBlock {
  readonly label: string;
  readonly der: Uint8Array;
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,40})-----\r?\n([A-Za-z0-9+/=\r\n]*?)-----END \1-----/g;

/** More than any chain or key needs, and little enough to be harmless. */
const MAX_CHARACTERS = 256 * 1024;

const LINE_CHARACTERS = 64;

export function encodePem(label: string, der: Uint8Array): string {
  const base64 = Buffer.from(der.buffer, der.byteOffset, der.length).toString('base64');
  let lines = '';
  for (let at = 0; at < base64.length; at += LINE_CHARACTERS) lines += `${base64.slice(at, at + LINE_CHARACTERS)}\n`;
  return `-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`;
}

/** Every block of a text in order; what stands between blocks is skipped, as RFC 7468 allows. */
export function decodePem(text: string): Parsed<readonly PemBlock[]> {
  const bad = (message: string): Parsed<never> => ({ ok: false, problems: [{ path: '', message }] });
  if (text.length > MAX_CHARACTERS) return bad(`the text is longer than ${MAX_CHARACTERS} characters`);
  const begun = text.split('-----BEGIN ').length - 1;
  const blocks = [...text.matchAll(BLOCK)].map(([, label = '', body = '']) => ({
    label,
    der: new Uint8Array(Buffer.from(body, 'base64')),
  }));
  if (begun === 0) return bad('there is no PEM block (-----BEGIN ...-----)');
  if (blocks.length !== begun) return bad(`${begun - blocks.length} of ${begun} PEM blocks are damaged or not closed`);
  return { ok: true, value: blocks };
}
