import type { Problem } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import { Fields } from '../../model/parse/fields.ts';
import { STANDARD_ATTRIBUTES } from '../attribute/standard-vocabulary.ts';
import { VALUE_TYPES, type ValueType } from '../attribute/value.ts';
import type { ObjectProblem } from './configuration.ts';

const ATTRIBUTE_NAME = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/;

export interface ManifestAttributes {
  readonly attributes: ReadonlyMap<string, ValueType>;
  readonly problems: readonly ObjectProblem[];
}

/**
 * The attributes that manifests add. Of two that give one attribute different types the first holds, the standard ones before all; what is
 * wrong with one attribute leaves the others in force.
 */
export function manifestAttributes(manifests: readonly KubeObject[]): ManifestAttributes {
  const attributes = new Map<string, ValueType>();
  const problems: ObjectProblem[] = [];
  for (const object of manifests) {
    const found: Problem[] = [];
    const spec = new Fields(object['spec'] ?? {}, 'spec', found);
    spec.noOthers(['attributes', 'name', 'revision']);
    for (const [name, attribute] of spec.entries('attributes')) {
      attribute.noOthers(['valueType', 'description']);
      const type = attribute.oneOf('valueType', VALUE_TYPES);
      const known = STANDARD_ATTRIBUTES.get(name) ?? attributes.get(name);
      if (!attribute.has('valueType')) attribute.refuse('valueType', 'is required');
      if (!ATTRIBUTE_NAME.test(name)) attribute.refuse('valueType', `"${name}" is no name of an attribute: words joined by dots`);
      else if (known !== undefined && type !== undefined && known !== type)
        attribute.refuse('valueType', `${name} is ${known} already`);
      else if (type !== undefined) attributes.set(name, type);
    }
    problems.push(...found.map((problem) => ({ ...problem, object, inForce: 'absent' }) as const));
  }
  return { attributes, problems };
}
