import { expect } from 'chai';
import { MeshError } from '../../../src/lib/errors.ts';
import { followNativeSidecars, hasNativeSidecars } from '../../../src/sidecar-injector/native-sidecars.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';

const ANSWERS: readonly (readonly [answer: unknown, has: boolean])[] = [
  [{ major: '1', minor: '36' }, true],
  [{ major: '1', minor: '32+' }, true],
  [{ major: '1', minor: '31' }, false],
  [{ major: '2', minor: '0' }, true],
  [{ major: '', minor: '' }, false],
  [{ major: 1, minor: 36 }, false],
  [{}, false],
  ['1.36', false],
  [undefined, false],
];

describe('whether a cluster has native sidecars', () => {
  for (const [answer, has] of ANSWERS) {
    it(`is ${has} for ${JSON.stringify(answer)}`, () => {
      expect(hasNativeSidecars(answer)).to.equal(has);
    });
  }

  it('is asked until there is an answer', async () => {
    const logger = new MemoryLogger();
    const answers = [
      () => Promise.reject(new MeshError('unavailable', 'no connection')),
      () => Promise.resolve({ major: '1', minor: '36' }),
    ];
    let wake: (() => void) | undefined;
    const asked: string[] = [];
    const has = await followNativeSidecars({
      client: {
        request: ({ path }) => {
          asked.push(path);
          return (answers.shift() ?? (() => Promise.reject(new Error('asked too often'))))();
        },
      },
      logger,
      signal: new AbortController().signal,
      sleep: () => new Promise((resolve) => (wake = resolve)),
      random: () => 0,
    });
    expect(has()).to.equal(false);
    wake?.();
    while (!has()) await new Promise(setImmediate);
    expect(asked).to.deep.equal(['/version', '/version']);
  });

  it('is no where there is no API server', async () => {
    const options = { logger: new MemoryLogger(), signal: new AbortController().signal, random: () => 0 };
    const has = await followNativeSidecars({ client: undefined, sleep: () => Promise.resolve(), ...options });
    expect(has()).to.equal(false);
  });
});
