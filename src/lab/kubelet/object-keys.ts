import type { KubeObject } from '../../model/object.ts';
import { isRecord } from './fields.ts';

/** The content of a ConfigMap (`data`, `binaryData`) or Secret (`data`, `stringData`), by key. */
export function keysOf(object: KubeObject): ReadonlyMap<string, Uint8Array> {
  const keys = new Map<string, Uint8Array>();
  const add = (field: string, encoding: BufferEncoding): void => {
    const values = object[field];
    if (!isRecord(values)) return;
    for (const [key, text] of Object.entries(values)) if (typeof text === 'string') keys.set(key, Buffer.from(text, encoding));
  };
  if (object.kind === 'Secret') {
    add('data', 'base64');
    add('stringData', 'utf8');
  } else {
    add('data', 'utf8');
    add('binaryData', 'base64');
  }
  return keys;
}
