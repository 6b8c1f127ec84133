import { CORE_SCHEMA, defineScalarTag, dump, loadAll, mergeTag, NOT_RESOLVED, type TagDefinition, YAMLException } from 'js-yaml';
import { MeshError } from '../lib/errors.ts';

/** `0644` is octal to every Kubernetes client (YAML 1.1), and a file mode read as decimal would be another mode. */
const integer = defineScalarTag<number>('tag:yaml.org,2002:int', {
  implicit: true,
  implicitFirstChars: ['-', '+', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'],
  resolve: (source) => {
    const match = /^([-+]?)(?:0o?([0-7]+)|0x([0-9a-fA-F]+)|(0|[1-9][0-9]*))$/.exec(source);
    if (match === null) return NOT_RESOLVED;
    const [, sign, octal, hexadecimal, decimal] = match;
    const size =
      octal !== undefined ? Number.parseInt(octal, 8) : Number(hexadecimal !== undefined ? `0x${hexadecimal}` : decimal);
    return sign === '-' ? -size : size;
  },
  identify: (value) => Number.isInteger(value),
});

/** `yes` and `on` are booleans to every Kubernetes client (YAML 1.1): `hostNetwork: yes` must mean the same here. */
const boolean = defineScalarTag<boolean>('tag:yaml.org,2002:bool', {
  implicit: true,
  resolve: (source) => {
    if (/^(?:true|True|TRUE|yes|Yes|YES|on|On|ON)$/.test(source)) return true;
    return /^(?:false|False|FALSE|no|No|NO|off|Off|OFF)$/.test(source) ? false : NOT_RESOLVED;
  },
  identify: (value) => typeof value === 'boolean',
});

const SCHEMA = CORE_SCHEMA.withTags(mergeTag, integer, boolean);

/**
 * Reads one YAML (or JSON) document as Kubernetes clients do; empty text is undefined. `tags` resolve further scalars.
 * Throws MeshError `invalid` with the line.
 */
export function parseYaml(text: string, ...tags: readonly TagDefinition[]): unknown {
  const documents = attempt(() => loadAll(text, { schema: tags.length === 0 ? SCHEMA : SCHEMA.withTags(tags) }));
  if (documents.length > 1) throw new MeshError('invalid', 'not one YAML document but several');
  return documents[0];
}

/** Prints a value as a YAML document that every YAML version reads alike; keys keep their order. */
export function printYaml(value: unknown): string {
  return dump(value, { lineWidth: -1, noRefs: true, seqNoIndent: true });
}

function attempt<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark === undefined ? '' : ` at line ${error.mark.line + 1}`;
    throw new MeshError('invalid', `not valid YAML${line}: ${error.reason}`, error);
  }
}
