import { expect } from 'chai';
import fc from 'fast-check';
import { ADAPTERS } from '../../../../src/rules/adapter/adapters.ts';
import { compileConfiguration } from '../../../../src/rules/config/compile.ts';
import { ruleKinds } from '../../../../src/rules/config/kinds.ts';
import { ruleObject } from '../../../fakes/rule-objects.ts';

const KINDS = ruleKinds('mesh.io').map(({ resource }) => resource.kind);

/** Names of fields that are looked for somewhere, so that random objects get far, and names that objects have anyway. */
const FIELDS = [
  ...new Set(JSON.stringify([...ADAPTERS.values()].map(({ schema }) => schema)).match(/(?<=")[A-Za-z]+(?=":\{)/g)),
  ...[
    'match',
    'actions',
    'handler',
    'instances',
    'compiledAdapter',
    'compiledTemplate',
    'params',
    'dimensions',
    'value',
    'attributes',
  ],
  ...[
    'requestHeaderOperations',
    'values',
    'operation',
    'services',
    'quotaSpecs',
    'rules',
    'quotas',
    'charge',
    'clause',
    'subjects',
  ],
  ...['toString', 'valueOf', 'toJSON', '__proto__', 'constructor', 'length', 'attributeBindings', 'source.name'],
];
const TEXTS = [
  '',
  'a',
  'source.name',
  'source.name == "x"',
  '"',
  'metric',
  'denier',
  'NaN',
  '-1',
  '1s',
  'http://x',
  '\u0000',
  '\ud800',
];
const LONG = ['('.repeat(3_000), '!'.repeat(3_000), `${'a|'.repeat(3_000)}a`, `${'1+'.repeat(3_000)}1`, 'x'.repeat(10_000)];

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom<unknown>(...TEXTS, ...LONG, null, true, 0, -1, 1.5, 2 ** 53, 1e308, Number.NaN),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...FIELDS), tie('value'), { maxKeys: 6 }),
  ),
}));

describe('configuration that is anything', () => {
  it('is compiled or refused with its place, and never worse', () => {
    const object = fc.record({ kind: fc.constantFrom(...KINDS), spec: value });
    fc.assert(
      fc.property(fc.array(object, { minLength: 1, maxLength: 6 }), (specs) => {
        const objects = specs.map(({ kind, spec }, index) => ruleObject(kind, `n${index}`, spec));
        for (const problem of compileConfiguration(objects).problems) expect(problem.message).to.not.equal('');
      }),
      { numRuns: 500 },
    );
  });

  it('may have texts that are none', () => {
    const strange = { toString: 1, valueOf: 1 };
    const { problems } = compileConfiguration([
      ruleObject('handler', 'h', { compiledAdapter: strange }),
      ruleObject('instance', 'i', { compiledTemplate: strange }),
      ruleObject('rule', 'r', { match: strange, actions: [{ handler: strange, instances: [strange] }] }),
    ]);
    expect(new Set(problems.map(({ object }) => object.kind))).to.deep.equal(new Set(['handler', 'instance', 'rule']));
  });
});
