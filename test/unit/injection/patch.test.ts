import { expect } from 'chai';
import fc from 'fast-check';
import { diff, type JsonPatch } from '../../../src/injection/patch.ts';

type Json = Record<string, unknown> | unknown[];

/** RFC 6902, written as the RFC reads, to check the patches with. */
function apply(document: unknown, patch: JsonPatch): unknown {
  let root: unknown = structuredClone(document);
  for (const operation of patch) {
    const keys = operation.path
      .split('/')
      .slice(1)
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = keys.pop();
    if (last === undefined) {
      root = operation.op === 'remove' ? undefined : operation.value;
      continue;
    }
    const parent = keys.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], root) as Json;
    if (Array.isArray(parent)) {
      const index = Number(last);
      if (index > parent.length || (operation.op !== 'add' && index >= parent.length)) throw new Error(`no ${operation.path}`);
      if (operation.op === 'add') parent.splice(index, 0, operation.value);
      else if (operation.op === 'replace') parent[index] = operation.value;
      else parent.splice(index, 1);
    } else {
      if (operation.op !== 'add' && !Object.hasOwn(parent, last)) throw new Error(`no ${operation.path}`);
      if (operation.op === 'remove') delete parent[last];
      else parent[last] = operation.value;
    }
  }
  return root;
}

const JSON_VALUE = fc
  .jsonValue({ maxDepth: 4 })
  .map((value) => JSON.parse(JSON.stringify(value).replaceAll('__proto__', 'proto')));

describe('JSON patch', () => {
  it('turns one value into the other, whatever they are', () => {
    fc.assert(
      fc.property(JSON_VALUE, JSON_VALUE, (from, to) => {
        expect(apply(from, diff(from, to))).to.deep.equal(to);
      }),
    );
  });

  it('is empty for equal values', () => {
    fc.assert(
      fc.property(JSON_VALUE, (value) => {
        expect(diff(value, structuredClone(value))).to.deep.equal([]);
      }),
    );
  });

  it('adds at the front of a list without touching the rest', () => {
    expect(diff({ a: [{ n: 1 }, { n: 2 }] }, { a: [{ n: 0 }, { n: 1 }, { n: 2 }] })).to.deep.equal([
      { op: 'add', path: '/a/0', value: { n: 0 } },
    ]);
  });

  it('escapes slashes and tildes of keys', () => {
    expect(diff({ a: {} }, { a: { 'sidecar.mesh.io/x~y': '1' } })).to.deep.equal([
      { op: 'add', path: '/a/sidecar.mesh.io~1x~0y', value: '1' },
    ]);
  });

  it('does not look into what both share, however deep it is', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(diff({ deep, a: 1 }, { deep, a: 2 })).to.deep.equal([{ op: 'replace', path: '/a', value: 2 }]);
  });
});
