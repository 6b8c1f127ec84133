import { expect } from 'chai';
import fc from 'fast-check';
import { readDocuments, splitDocuments } from '../../../../src/model/parse/document.ts';
import { joinPath } from '../../../../src/model/parse/path.ts';
import { printYaml } from '../../../../src/model/parse/yaml.ts';

const TEXT = `# head
apiVersion: v1
metadata:
  labels: {a.b/c: x,
    d: "y"}
list:
- one
-
  two: |
    text
    more
  three: [1,
    2]
empty:
---
second: &anchor
  x: 1
alias: *anchor
merged:
  <<: *anchor
`;

describe('readDocuments', () => {
  const LINES: readonly (readonly [number, string, number])[] = [
    [0, '', 2],
    [0, 'apiVersion', 2],
    [0, 'metadata.labels["a.b/c"]', 4],
    [0, 'metadata.labels.d', 5],
    [0, 'list', 6],
    [0, 'list[0]', 7],
    [0, 'list[1].two', 9],
    [0, 'list[1].three', 12],
    [0, 'list[1].three[1]', 13],
    [0, 'empty', 14],
    [0, 'metadata.name', 3],
    [0, 'list[1].four.five', 9],
    [0, 'nothing', 2],
    [1, 'second.x', 17],
    [1, 'alias', 18],
    [1, 'alias.x', 18],
    [1, 'merged', 19],
  ];
  for (const [document, path, line] of LINES) {
    it(`finds ${path === '' ? 'the document' : path} of document ${document} on line ${line}`, () => {
      expect(readDocuments(TEXT).documents[document]?.lineOf(path)).to.equal(line);
    });
  }

  it('reads the others where one is broken', () => {
    const { documents, problems } = readDocuments('a: 1\n---\nb: [\n---\nc: 3\n');
    expect(documents.map(({ value }) => value)).to.deep.equal([{ a: 1 }, { c: 3 }]);
    expect(problems).to.deep.equal([{ path: '', message: 'not valid YAML: deficient indentation', line: 3 }]);
  });

  const VALUES: readonly (readonly [string, unknown])[] = [
    ['a: 0644', 420],
    ['a: 0x1f', 31],
    ['a: 10', 10],
    ['a: 1.5', 1.5],
    ['a: yes', true],
    ['a: "yes"', 'yes'],
    ['a: off', false],
    ['a: 2001-01-01', '2001-01-01'],
    ['a: 12:30', '12:30'],
    ['a: 08', 8],
    ['a: ~', null],
    ['a:', null],
    ['{"a": "\\ud83d\\ude00"}', '😀'],
  ];
  for (const [text, value] of VALUES) {
    it(`reads ${text} as Kubernetes clients do`, () =>
      expect(readDocuments(text).documents[0]?.value).to.deep.equal({ a: value }));
  }

  it('has no documents in an empty text, and a null in an empty document', () => {
    expect(readDocuments('').documents).to.deep.equal([]);
    expect(readDocuments('# only a comment\n').documents).to.deep.equal([]);
    expect(readDocuments('---\n---\na: 1\n').documents.map(({ value }) => value)).to.deep.equal([null, { a: 1 }]);
  });

  const HOSTILE: readonly (readonly [string, string, string])[] = [
    [
      'an alias bomb',
      `a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(',')}]`).join('\n')}`,
      'aliases multiply',
    ],
    ['an alias of itself', 'a: &a [*a]', 'aliases multiply'],
    ['endless nesting', `${'['.repeat(10_000)}`, 'nesting exceeded'],
    ['a prototype', '__proto__: {polluted: true}', '"__proto__" is not allowed'],
    ['a prototype in a merge', 'a: &a {"__proto__": {polluted: true}}\nb: {<<: *a}', '"__proto__" is not allowed'],
    ['a key given twice', 'a: 1\na: 2', 'duplicated mapping key'],
    ['an unknown tag', 'a: !!js/function "x"', 'unknown scalar tag'],
    ['a null byte', 'a: "\0"', 'null byte'],
  ];
  for (const [what, text, reason] of HOSTILE) {
    it(`refuses ${what}`, () => {
      const { documents, problems } = readDocuments(text);
      expect(documents).to.deep.equal([]);
      expect(problems.map(({ message }) => message).join()).to.include(reason);
    });
  }

  it('finds every part of a printed document where it is printed', () => {
    const value = fc.letrec((tie) => ({
      leaf: fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
      node: fc.oneof(
        { depthSize: 'small' },
        tie('leaf'),
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(
          fc.string().filter((key) => key !== '__proto__'),
          tie('node'),
          { maxKeys: 3 },
        ),
      ),
    })).node;
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ minLength: 1 }).filter((key) => key !== '__proto__'),
          value,
          { minKeys: 1, maxKeys: 4 },
        ),
        (object) => {
          const [document] = readDocuments(printYaml(object)).documents;
          expect(document?.value).to.deep.equal(object);
          const lines = Object.keys(object).map((key) => document?.lineOf(joinPath('', key)) ?? 0);
          expect(lines).to.deep.equal(lines.toSorted((a, b) => a - b));
          expect(new Set(lines).size).to.equal(lines.length);
        },
      ),
    );
  });
});

describe('splitDocuments', () => {
  it('gives pieces that make up the text', () => {
    const part = fc.constantFrom(
      '---\n',
      '--- # c\n',
      '...\n',
      'a: 1\n',
      '# c\n',
      '%YAML 1.2\n',
      '  ---\n',
      '---x\n',
      '\n',
      'b: |\n  t\n',
    );
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const text = parts.join('');
        expect(
          splitDocuments(text)
            .map((chunk) => chunk.text)
            .join(''),
        ).to.equal(text);
      }),
    );
  });

  it('keeps directives with their document and text that only looks like a separator where it is', () => {
    expect(splitDocuments('%YAML 1.2\n---\na: |\n  ---\n---x: 1\n').map(({ line }) => line)).to.deep.equal([1]);
    expect(splitDocuments('a: 1\n---\nb: 2\n...\nc: 3\n').map(({ line }) => line)).to.deep.equal([1, 2, 5]);
  });
});
