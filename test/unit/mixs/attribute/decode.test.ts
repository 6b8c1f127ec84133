import { expect } from 'chai';
import fc from 'fast-check';
import { MeshError } from '../../../../src/lib/errors.ts';
import { decodeAttributes } from '../../../../src/mixs/attribute/decode.ts';
import { DictionaryWriter } from '../../../../src/mixs/attribute/dictionary.ts';
import { GLOBAL_WORDS } from '../../../../src/mixs/attribute/global-words.ts';
import { vocabularyWith } from '../../../../src/rules/attribute/standard-vocabulary.ts';
import type { Value } from '../../../../src/rules/attribute/value.ts';
import { type Compressed, compressed } from '../../../fakes/compressed-attributes.ts';

const vocabulary = vocabularyWith(new Map([['some.ratio', 'DOUBLE' as const]]));
const global = (word: string): number => GLOBAL_WORDS.indexOf(word);

function decode(
  parts: Compressed,
  globalWordCount = GLOBAL_WORDS.length,
  defaultWords: readonly string[] = [],
): ReadonlyMap<string, Value> {
  const values = new Map<string, Value>();
  decodeAttributes(compressed(parts), { vocabulary, globalWordCount, defaultWords }, values);
  return values;
}

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof MeshError && thrown.code === 'invalid') return thrown.message;
    throw thrown;
  }
  throw new Error('nothing was refused');
}

describe('the attributes of a message', () => {
  it('are read with their types, by global words and by words of their own', () => {
    const values = decode({
      words: ['sleep-1', 'some.ratio', 'x-token', 'Abc'],
      strings: [[global('source.name'), -1]],
      int64s: [[global('request.size'), 9_007_199_254_740_993n]],
      doubles: [[-2, 0.25]],
      bools: [[global('connection.mtls'), true]],
      timestamps: [[global('request.time'), [1_527_854_400n, 5]]],
      durations: [[global('response.duration'), [1n, 500_000_000]]],
      bytes: [
        [global('source.ip'), [10, 0, 0, 7]],
        [global('destination.ip'), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 8]],
      ],
      string_maps: [
        [
          global('request.headers'),
          [
            [global('host'), -1],
            [-3, -4],
          ],
        ],
      ],
    });
    expect(Object.fromEntries(values)).to.deep.equal({
      'source.name': 'sleep-1',
      'request.size': 9_007_199_254_740_993n,
      'some.ratio': 0.25,
      'connection.mtls': true,
      'request.time': 1_527_854_400_000_000_005n,
      'response.duration': 1_500_000_000n,
      'source.ip': '10.0.0.7',
      'destination.ip': '10.0.0.8',
      'request.headers': new Map([
        ['host', 'sleep-1'],
        ['x-token', 'Abc'],
      ]),
    });
  });

  it('have times that there are', () => {
    const [first, last, longest] = [-62_135_596_800n, 253_402_300_799n, 315_576_000_000n];
    const time = global('request.time');
    const span = global('response.duration');
    expect(decode({ timestamps: [[time, [first, 0]]] }).get('request.time')).to.equal(first * 1_000_000_000n);
    expect(decode({ timestamps: [[time, [last, 999_999_999]]] }).size).to.equal(1);
    for (const seconds of [first - 1n, last + 1n, 2n ** 62n]) {
      expect(refusal(() => decode({ timestamps: [[time, [seconds, 0]]] }))).to.include('in the years 1 to 9999');
    }
    expect(decode({ durations: [[span, [-longest, 0]]] }).size).to.equal(1);
    for (const seconds of [longest + 1n, -longest - 1n]) {
      expect(refusal(() => decode({ durations: [[span, [seconds, 0]]] }))).to.include('of 10000 years');
    }
  });

  it('use the default words when they bring none', () => {
    expect(decode({ strings: [[global('source.name'), -1]] }, GLOBAL_WORDS.length, ['a']).get('source.name')).to.equal('a');
  });

  it('that nobody knows are left out', () => {
    expect(
      decode({
        words: ['no.such', 'a'],
        strings: [
          [-1, -2],
          [global('source.name'), -2],
        ],
      }),
    ).to.have.keys('source.name');
  });

  const REFUSED: Readonly<Record<string, readonly [Compressed, string]>> = {
    'an index beyond the global words': [
      { strings: [[0, 5000]] },
      'attributes: there is no word of index 5000 (202 global words, 0 of the message)',
    ],
    'an index beyond the own words': [
      { words: ['a'], strings: [[0, -2]] },
      'attributes: there is no word of index -2 (202 global words, 1 of the message)',
    ],
    'another type': [
      { words: ['big'], strings: [[global('request.size'), -1]] },
      'attributes: request.size is INT64, and comes as one of strings',
    ],
    'an address of three bytes': [
      { bytes: [[global('source.ip'), [1, 2, 3]]] },
      'attributes: an IP address has 4 or 16 bytes, not 3',
    ],
  };
  for (const [what, [parts, message]] of Object.entries(REFUSED)) {
    it(`are refused with ${what}`, () => expect(refusal(() => decode(parts))).to.equal(message));
  }

  it('are refused from a client that knows more global words', () => {
    expect(refusal(() => decode({}, 203))).to.include('the client uses 203 global words, this server knows 202');
  });

  it('never do worse than be refused, whatever the bytes', () => {
    const whole = compressed({
      words: ['a', 'b'],
      strings: [[0, -1]],
      string_maps: [[15, [[-1, -2]]]],
      durations: [[29, [1n, 5]]],
    });
    const mangled = fc.tuple(fc.nat(whole.length), fc.nat(whole.length - 1), fc.nat(255)).map(([length, at, byte]) => {
      const bytes = whole.slice(0, length);
      if (at < length) bytes[at] = byte;
      return bytes;
    });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 64 }), mangled), (bytes) => {
        try {
          decodeAttributes(bytes, { vocabulary, globalWordCount: GLOBAL_WORDS.length }, new Map());
        } catch (thrown) {
          expect(thrown).to.be.instanceOf(MeshError).with.property('code', 'invalid');
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('the words of an answer', () => {
  it('are global ones as far as the client knows them', () => {
    const writer = new DictionaryWriter(2);
    expect(['source.ip', 'source.name', 'x', 'source.name'].map((word) => writer.indexOf(word))).to.deep.equal([0, -1, -2, -1]);
    expect(writer.words).to.deep.equal(['source.name', 'x']);
  });
});
