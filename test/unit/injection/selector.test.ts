import { expect } from 'chai';
import { parseSelector, selects } from '../../../src/injection/selector.ts';
import type { Problem } from '../../../src/lib/errors.ts';

const expression = (operator: string, values?: readonly string[]) => ({ matchExpressions: [{ key: 'tier', operator, values }] });

const SELECTED: readonly (readonly [string, unknown, Record<string, string>, boolean])[] = [
  ['matchLabels', { matchLabels: { a: '1', b: '2' } }, { a: '1', b: '2', c: '3' }, true],
  ['matchLabels, one differing', { matchLabels: { a: '1', b: '2' } }, { a: '1', b: '3' }, false],
  ['In', expression('In', ['web', 'api']), { tier: 'api' }, true],
  ['In, label missing', expression('In', ['web']), {}, false],
  ['NotIn', expression('NotIn', ['web']), { tier: 'web' }, false],
  ['NotIn, label missing', expression('NotIn', ['web']), {}, true],
  ['Exists', expression('Exists'), { tier: '' }, true],
  ['Exists, label missing', expression('Exists'), {}, false],
  ['DoesNotExist', expression('DoesNotExist'), {}, true],
  ['DoesNotExist, label there', expression('DoesNotExist'), { tier: 'web' }, false],
  ['a label that objects inherit', { matchExpressions: [{ key: 'toString', operator: 'Exists' }] }, {}, false],
];

const REFUSED: readonly (readonly [string, unknown, string])[] = [
  ['a text', 'app=web', 's'],
  ['an empty selector', {}, 's'],
  ['an unknown field', { matchLabel: { a: '1' }, matchLabels: { a: '1' } }, 's.matchLabel'],
  ['labels that are no texts', { matchLabels: { a: 1 } }, 's.matchLabels'],
  ['an unknown operator', expression('Is', ['web']), 's.matchExpressions[0]'],
  ['In without values', expression('In', []), 's.matchExpressions[0]'],
  ['Exists with values', expression('Exists', ['web']), 's.matchExpressions[0]'],
];

describe('label selector', () => {
  for (const [title, document, labels, selected] of SELECTED) {
    it(`${title}: ${selected ? 'selects' : 'does not select'}`, () => {
      const problems: Problem[] = [];
      const selector = parseSelector(document, 's', problems);
      expect(problems).to.deep.equal([]);
      expect(selects(selector, labels)).to.equal(selected);
    });
  }

  for (const [title, document, path] of REFUSED) {
    it(`refuses ${title}`, () => {
      const problems: Problem[] = [];
      parseSelector(document, 's', problems);
      expect(problems.map((problem) => problem.path)).to.deep.equal([path]);
    });
  }
});
