import { expect } from 'chai';
import { bagFrom, bagWith, TrackedBag } from '../../../../src/rules/attribute/bags.ts';

const BAG = bagFrom(
  new Map<string, string | ReadonlyMap<string, string>>([
    ['source.name', 'sleep'],
    ['request.headers', new Map([['host', 'a']])],
  ]),
);

describe('a bag of attributes', () => {
  it('records what is asked of it, entries by their keys', () => {
    const tracked = new TrackedBag(BAG);
    tracked.get('source.name');
    tracked.get('source.ip');
    tracked.entry('request.headers', 'host');
    tracked.entry('request.headers', 'cookie');
    tracked.get('source.name');
    expect([...tracked.names()]).to.deep.equal(['source.name', 'request.headers']);
    expect(tracked.references()).to.deep.equal([
      { name: 'source.name', key: undefined, present: true },
      { name: 'source.ip', key: undefined, present: false },
      { name: 'request.headers', key: 'host', present: true },
      { name: 'request.headers', key: 'cookie', present: false },
    ]);
  });

  it('keeps the attributes of the request where others know them too', () => {
    const joined = bagWith(
      BAG,
      new Map([
        ['source.name', 'other'],
        ['source.uid', 'x'],
      ]),
    );
    expect(['source.name', 'source.uid'].map((name) => joined.get(name))).to.deep.equal(['sleep', 'x']);
    expect([...joined.names()]).to.deep.equal(['source.name', 'request.headers', 'source.uid']);
    expect(joined.entry('request.headers', 'host')).to.equal('a');
  });
});
