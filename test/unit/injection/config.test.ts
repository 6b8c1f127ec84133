import { expect } from 'chai';
import { parseInjectionConfig } from '../../../src/injection/config.ts';
import { DEFAULT_INJECTION_CONFIG } from '../../../src/injection/default-config.ts';
import { DEFAULT_SETTINGS } from '../../../src/injection/settings.ts';

const REFUSED: readonly (readonly [string, string, readonly string[]])[] = [
  ['nothing', '', ['']],
  ['text that is no YAML', 'policy: [', ['']],
  ['two documents', 'policy: enabled\n---\npolicy: enabled', ['']],
  ['a missing template', 'policy: enabled', ['template']],
  ['another policy', 'policy: on\ntemplate: x', ['policy']],
  ['an unknown field', 'policy: enabled\ntemplate: x\ntemplates: y', ['templates']],
  ['an unknown setting', 'policy: enabled\ntemplate: x\nvalues: {proxyimage: x}', ['values.proxyimage']],
  ['a bad setting', 'policy: enabled\ntemplate: x\nvalues: {excludeInboundPorts: all}', ['values.excludeInboundPorts']],
  [
    'bad selectors',
    'policy: enabled\ntemplate: x\nneverInjectSelector: [{}]\nalwaysInjectSelector: 5',
    ['neverInjectSelector[0]', 'alwaysInjectSelector'],
  ],
  ['bad pull secrets', 'policy: enabled\ntemplate: x\nimagePullSecrets: [{name: x}]', ['imagePullSecrets']],
];

describe('injection configuration', () => {
  it('built in is good', () => {
    expect(parseInjectionConfig(DEFAULT_INJECTION_CONFIG)).to.have.property('ok', true);
  });

  it('takes built-in settings for those it leaves out, and numbers as texts', () => {
    const parsed = parseInjectionConfig('policy: disabled\ntemplate: x\nvalues: {concurrency: 4}');
    const expected = {
      policy: 'disabled',
      neverInjectSelector: [],
      alwaysInjectSelector: [],
      imagePullSecrets: [],
      values: { ...DEFAULT_SETTINGS, concurrency: '4' },
      template: 'x',
    };
    expect(parsed).to.deep.equal({ ok: true, value: expected });
  });

  for (const [title, text, paths] of REFUSED) {
    it(`refuses ${title}`, () => {
      const parsed = parseInjectionConfig(text);
      expect(parsed.ok ? [] : parsed.problems.map(({ path }) => path)).to.deep.equal(paths);
    });
  }
});
