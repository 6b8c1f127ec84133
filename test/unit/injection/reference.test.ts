/** What docs/reference/injection.md says about settings and templates is what they are. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { annotationOf, DEFAULT_SETTINGS, SETTING_NAMES } from '../../../src/injection/settings.ts';
import { compileTemplate, FILTERS, TAGS } from '../../../src/injection/template.ts';
import { namesFor } from '../../../src/lib/names.ts';

const REFERENCE = readFileSync('docs/reference/injection.md', 'utf8');

describe('the reference page of injection', () => {
  for (const setting of SETTING_NAMES) {
    const annotation = annotationOf(setting, namesFor('<domain>'));
    it(`has the default of ${setting}`, () => {
      const text = DEFAULT_SETTINGS[setting];
      if (annotation === undefined) expect(REFERENCE).to.contain(`\`${setting}\` (${text === '' ? 'empty' : `\`${text}\``}`);
      else expect(rowOf(annotation)[3]).to.equal(text === '' ? '`""`' : `\`${text}\``);
    });
  }

  it('has an example of a template that works', () => {
    const example = /```yaml\n([^`]*)```/.exec(REFERENCE)?.[1] ?? '';
    const volumeFor = (annotations: Readonly<Record<string, string>>): unknown =>
      compileTemplate(example).render({ pod: { annotations } })['volumes'];
    expect(volumeFor({ 'example.com/team': 'a' })).to.deep.equal([{ name: 'team-ca', configMap: { name: 'a-ca' } }]);
    expect(volumeFor({})).to.deep.equal([{ name: 'team-ca', configMap: { name: 'default-ca' } }]);
  });

  it('has the tags and filters of templates', () => {
    for (const word of [...TAGS, ...FILTERS].filter((each) => each !== '#')) expect(REFERENCE).to.contain(`\`${word}\``);
  });
});

function rowOf(annotation: string): string[] {
  const row = REFERENCE.split('\n').find((line) => line.startsWith(`| \`${annotation}\` |`)) ?? '';
  return row.split(/(?<!\\)\|/).map((cell) => cell.trim());
}
