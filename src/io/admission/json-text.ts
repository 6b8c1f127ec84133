/** JSON from a network: what takes much memory to read for the bytes that it is of is found out before. */

/** Nesting deeper than this is refused; no object of Kubernetes comes near. */
const MAX_DEPTH = 100;
/** Below, whatever a text is made of takes little. */
const HARMLESS_LENGTH = 64 * 1024;

/** The value of a JSON text; undefined when it is none, or nested without end. */
export function parseJson(text: string): unknown {
  if (text.length > HARMLESS_LENGTH && isDeeperThan(MAX_DEPTH, text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isDeeperThan(limit: number, text: string): boolean {
  let depth = 0;
  let inText = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (inText) {
      if (character === '\\') at++;
      else if (character === '"') inText = false;
    } else if (character === '"') inText = true;
    else if (character === '{' || character === '[') {
      if (++depth > limit) return true;
    } else if (character === '}' || character === ']') depth--;
  }
  return false;
}
