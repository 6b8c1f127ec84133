import { expect } from 'chai';
import { ALL } from '../../../src/delivery/interest.ts';
import { type Answer, AnswerCache } from '../../../src/delivery/rest-cache.ts';
import { CLUSTER } from '../../../src/delivery/types.ts';
import { resourceSet } from '../../fakes/config-source.ts';

describe('cached answers of REST discovery', () => {
  const cache = () => new AnswerCache({ maxAnswers: 2, maxBodyBytes: 10 }, () => {});
  const answer = (version: string) => (): Answer => ({ set: resourceSet(CLUSTER, []), interest: ALL, version });
  const body = (text: string) => () => Buffer.from(text);

  it('are of the snapshot that is asked about', () => {
    const answers = cache();
    expect(answers.answer('a', 1, answer('v1')).version).to.equal('v1');
    expect(answers.answer('a', 1, answer('other')).version).to.equal('v1');
    expect(answers.answer('a', 2, answer('v2')).version).to.equal('v2');
    expect(answers.stats()).to.include({ hits: 1, misses: 2, answers: 1 });
  });

  it('are bounded in number; the one used least recently goes', () => {
    const answers = cache();
    for (const key of ['a', 'b', 'a', 'c']) answers.answer(key, 1, answer(key));
    expect(answers.answer('a', 1, answer('again')).version).to.equal('a');
    expect(answers.answer('b', 1, answer('again')).version).to.equal('again');
    expect(answers.stats().answers).to.equal(2);
  });

  it('share bodies, bounded in bytes', () => {
    const answers = cache();
    expect(answers.body('x', body('12345'))).to.equal(answers.body('x', body('other')));
    answers.body('y', body('1234567'));
    expect(answers.stats()).to.include({ bodies: 1, bodyBytes: 7 });
    answers.body('z', body('more than ten bytes'));
    expect(answers.stats()).to.include({ bodies: 0, bodyBytes: 0 });
  });
});
