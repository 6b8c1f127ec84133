import type { AttributeBag, Vocabulary } from '../../src/rules/attribute/bag.ts';
import type { Value, ValueType } from '../../src/rules/attribute/value.ts';

/** A bag of plain values. */
export function bagOf(values: Readonly<Record<string, Value>>): AttributeBag {
  const all = new Map(Object.entries(values));
  return {
    get: (name) => all.get(name),
    entry: (name, key) => {
      const map = all.get(name);
      return map instanceof Map ? map.get(key) : undefined;
    },
    names: () => all.keys(),
  };
}

export function vocabularyOf(types: Readonly<Record<string, ValueType>>): Vocabulary {
  return {
    typeOf: (name) => (Object.hasOwn(types, name) ? types[name] : undefined),
    names: () => Object.keys(types),
  };
}
