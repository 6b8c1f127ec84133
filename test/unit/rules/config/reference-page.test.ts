import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { loadAll } from 'js-yaml';
import type { KubeObject } from '../../../../src/model/object.ts';
import { compileConfiguration } from '../../../../src/rules/config/compile.ts';
import { FUNCTIONS } from '../../../../src/rules/expression/functions.ts';
import { TEMPLATES } from '../../../../src/rules/template/templates.ts';

const PAGE = readFileSync('docs/reference/mixs-rules.md', 'utf8');

describe('the reference page of rules', () => {
  it('has an example that is right', () => {
    const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(PAGE) ?? [];
    const { problems, rules } = compileConfiguration(loadAll(yaml) as KubeObject[]);
    expect(problems).to.deep.equal([]);
    expect([...rules.keys()]).to.deep.equal(['no-bar.rule.mesh-system']);
  });

  it('shows a role and a binding that allow something', () => {
    const yaml = [...PAGE.matchAll(/```yaml\n(.*?)```/gs)]
      .map(([, text = '']) => text)
      .find((text) => text.includes('ServiceRole'));
    const { problems, serviceRoles, serviceRoleBindings } = compileConfiguration(loadAll(yaml ?? '') as KubeObject[]);
    expect(problems).to.deep.equal([]);
    expect([serviceRoles.size, serviceRoleBindings.size]).to.deep.equal([1, 1]);
  });

  it('names every function and every template', () => {
    const missing = [...FUNCTIONS.keys()].filter((name) => !new RegExp(`[\`.]${name}\\(`).test(PAGE));
    expect(missing).to.deep.equal([]);
    expect(Object.keys(TEMPLATES).filter((name) => !PAGE.includes(`\`${name}\``))).to.deep.equal([]);
  });
});
