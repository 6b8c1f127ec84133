import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { load } from 'js-yaml';
import type { KubeObject } from '../../../../src/model/object.ts';
import { ADAPTERS } from '../../../../src/rules/adapter/adapters.ts';
import { compiledInstance } from '../../../fakes/rule-instances.ts';

describe('the reference of adapters', () => {
  const page = readFileSync('docs/reference/mixs-adapters.md', 'utf8');
  const examples = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => load(text) as KubeObject);

  it('has an example in every section', () => {
    const sections = [...page.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    expect(examples.map(({ kind }) => kind)).to.deep.equal(sections);
  });

  for (const { kind, ...example } of examples) {
    it(`shows a ${kind} that is right`, () => {
      const sent = [
        compiledInstance('quota', 'requests', {}),
        compiledInstance('metric', 'size', { value: 'response.size', dimensions: { source: 'source.name' } }),
      ];
      const parsed = ADAPTERS.get(kind)?.parse(example['spec'], sent);
      expect(parsed).to.have.property('ok', true);
    });
  }
});
