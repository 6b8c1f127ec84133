import type { TagDefinition } from 'js-yaml';
import { MeshError } from '../lib/errors.ts';
import { readYaml } from '../model/parse/yaml.ts';

/** Reads one YAML document, undefined if there is none; `tags` resolve further scalars. Throws MeshError `invalid` with the line. */
export function parseYaml(text: string, ...tags: readonly TagDefinition[]): unknown {
  const read = readYaml(text, ...tags);
  if (!read.ok) {
    const { line, message } = read.problem;
    throw new MeshError('invalid', line === undefined ? message : `line ${line}: ${message}`);
  }
  const { values } = read.value;
  if (values.length > 1) throw new MeshError('invalid', `${values.length} YAML documents instead of one`);
  return values[0];
}
