import { expect } from 'chai';
import type { Profile } from '#gen/perftools/profiles/profile.ts';
import { cpuProfileToPprof, heapProfileToPprof } from '../../../../src/io/profile/pprof.ts';

const frame = (functionName: string, url = '', lineNumber = -1) => ({
  functionName,
  url,
  lineNumber,
  columnNumber: 0,
  scriptId: '0',
});

/** Samples as `name@file:line < caller ...: values`. */
function readable(profile: Profile): readonly string[] {
  const text = (index: number) => profile.stringTable[index] ?? '';
  return profile.sample.map(({ locationId, value }) => {
    const stack = locationId.map((id) => {
      const line = profile.location.find((location) => location.id === id)?.line[0];
      const code = profile.function.find((known) => known.id === line?.functionId);
      return `${text(code?.name ?? 0)}@${text(code?.filename ?? 0)}:${line?.line}`;
    });
    return `${stack.join(' < ')}: ${value.join(' ')}`;
  });
}

const quantities = ({ sampleType, stringTable }: Profile) =>
  sampleType.map(({ type, unit }) => `${stringTable[type]}/${stringTable[unit]}`);

describe('profiles for pprof', () => {
  it('gives CPU time to the stacks that were sampled, without idle time', () => {
    const profile = cpuProfileToPprof(
      {
        startTime: 1_000,
        endTime: 6_500,
        nodes: [
          { id: 1, callFrame: frame('(root)'), children: [2, 3] },
          { id: 2, callFrame: frame('(idle)') },
          { id: 3, callFrame: frame('', 'file:///app/a%20b.js', 9), children: [4] },
          { id: 4, callFrame: frame('work', 'node:fs', 19) },
        ],
        samples: [4, 2, 4, 3],
        timeDeltas: [500, 1_000, 1_000, 2_000],
      },
      new Date(1_000),
      1_000,
    );
    expect(readable(profile)).to.deep.equal([
      'work@node:fs:20 < (anonymous)@/app/a b.js:10: 2 3000000',
      '(anonymous)@/app/a b.js:10: 1 1000000',
    ]);
    expect(quantities(profile)).to.deep.equal(['samples/count', 'cpu/nanoseconds']);
    expect(profile).to.include({ timeNanos: 1e9, durationNanos: 5_500_000, period: 1_000_000 });
    expect(profile.stringTable[0]).to.equal('');
  });

  it('takes time that runs backwards for none', () => {
    const nodes = [
      { id: 1, callFrame: frame('(root)'), children: [2] },
      { id: 2, callFrame: frame('work', 'a.js', 0) },
    ];
    const times = { startTime: 0, endTime: 100, samples: [2, 2, 2], timeDeltas: [50, -10, 20] };
    const profile = cpuProfileToPprof({ nodes, ...times }, new Date(0), 1_000);
    expect(readable(profile)).to.deep.equal(['work@a.js:1: 3 60000']);
  });

  it('gives live memory to where it was allocated', () => {
    const leaf = { callFrame: frame('leaf', 'file:///app/leaf.js', 0), selfSize: 100.4, id: 3, children: [] };
    const middle = { callFrame: frame('middle', 'file:///app/leaf.js', 5), selfSize: 0, id: 2, children: [leaf] };
    const head = { callFrame: frame('(root)'), selfSize: 7, id: 1, children: [middle] };
    const profile = heapProfileToPprof({ head }, new Date(0), 4_096);
    expect(readable(profile)).to.deep.equal(['(root)@:0: 7', 'leaf@/app/leaf.js:1 < middle@/app/leaf.js:6: 100']);
    expect(quantities(profile)).to.deep.equal(['inuse_space/bytes']);
    expect(profile.period).to.equal(4_096);
  });
});
