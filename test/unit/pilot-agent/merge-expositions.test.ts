import { expect } from 'chai';
import { mergeExpositions } from '../../../src/pilot-agent/merge-expositions.ts';

const PROXY = `# TYPE envoy_requests counter
envoy_requests{cluster="a"} 1

# TYPE envoy_time histogram
envoy_time_bucket{le="+Inf"} 2
envoy_time_sum{} 3
envoy_time_count{} 2
`;
const AGENT = `# HELP agent_restarts Restarts.
# TYPE agent_restarts counter
agent_restarts 0
`;

const merge = (text: string, openMetrics = false) => mergeExpositions([PROXY, AGENT], { text, openMetrics });
const application = (text: string, openMetrics = false): string => merge(text, openMetrics).text.slice((PROXY + AGENT).length);

describe('merged statistics', () => {
  it('are the own ones as they are, without an application', () => {
    expect(mergeExpositions([PROXY, AGENT], undefined)).to.deep.equal({ text: PROXY + AGENT, brokenLines: 0, collisions: 0 });
  });

  it('end every line, whatever a source does', () => {
    expect(mergeExpositions(['a 1', 'b 2'], { text: 'c 3', openMetrics: false }).text).to.equal(
      'a 1\nb 2\n# TYPE c untyped\nc 3\n',
    );
  });

  it("have the application's after the own ones, grouped by family", () => {
    const text = '# HELP hits Hits\\nof all.\nhits{path="/"} 1 1700000000000\nother 2\n# TYPE hits counter\nhits{path="/b"} 5\n';
    expect(application(text)).to.equal(
      '# HELP hits Hits\\nof all.\n# TYPE hits counter\nhits{path="/"} 1 1700000000000\nhits{path="/b"} 5\n# TYPE other untyped\nother 2\n',
    );
  });

  it('keep histograms and summaries together', () => {
    const text =
      '# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n# TYPE s summary\ns{quantile="0.5"} 1\ns_sum 1\ns_count 1\nx_sum 1\n';
    expect(application(text)).to.equal(text.replace('x_sum 1', '# TYPE x_sum untyped\nx_sum 1'));
  });

  it('have each family once when the application has it too, and each series once', () => {
    const merged = merge('# TYPE envoy_requests counter\nenvoy_requests{cluster="b"} 7\nenvoy_requests{cluster="a"} 9\n');
    expect(merged.text.match(/# TYPE envoy_requests/g)).to.have.length(1);
    expect(merged.text).to.contain('envoy_requests{cluster="a"} 1\nenvoy_requests{cluster="b"} 7\n');
    expect(merged.text).not.to.contain(' 9');
    expect(merged.text).to.contain('agent_restarts 0');
    expect(merged.collisions).to.equal(1);
  });

  it('know a series by its labels, in whatever order they stand', () => {
    const own = '# TYPE a counter\na{x="1",y="2"} 1\n';
    const merged = mergeExpositions([own], { text: '# TYPE a counter\na{ y="2", x="1" } 5\n', openMetrics: false });
    expect([merged.text, merged.collisions]).to.deep.equal([own, 1]);
  });

  it('leave out a family that is of another type', () => {
    const merged = merge('# TYPE envoy_requests gauge\nenvoy_requests{cluster="b"} 7\nmine 1\n');
    expect(merged.text).not.to.contain(' 7');
    expect(merged.text).to.contain('mine 1');
    expect(merged.collisions).to.equal(1);
  });

  for (const [what, line] of [
    ['no value', 'a'],
    ['a value that is no number', 'a b'],
    ['an open brace', 'a{x="1" 1'],
    ['an open quote', 'a{x="1} 1'],
    ['a label without quotes', 'a{x=1} 1'],
    ['a quoted name', '{"a.b"} 1'],
    ['something after the timestamp', 'a 1 2 3'],
    ['an exemplar where there are none', 'a 1 # {x="1"} 1'],
    ['HTML', '<html><body>404</body></html>'],
  ] as const) {
    it(`leave out and count a line with ${what}`, () => {
      const merged = merge(`${line}\ngood 1\n`);
      expect(merged.text).to.equal(`${PROXY}${AGENT}# TYPE good untyped\ngood 1\n`);
      expect(merged.brokenLines).to.equal(1);
    });
  }

  it('leave out what the application says twice', () => {
    expect(merge('a{x="1"} 1\na{x="1"} 2\n')).to.include({
      brokenLines: 1,
      text: `${PROXY}${AGENT}# TYPE a untyped\na{x="1"} 1\n`,
    });
  });

  it('keep quotes, commas and braces inside of values', () => {
    const text = '# TYPE a gauge\na{x="}\\",{",y="\\\\"} +Inf\n';
    expect(application(text)).to.equal(text);
  });

  it('turn OpenMetrics into the older format', () => {
    const text = [
      '# HELP hits Hits.',
      '# TYPE hits counter',
      '# UNIT hits hits',
      'hits_total{path="/"} 17 1700000000.5 # {trace="ab"} 1 1700000000.1',
      'hits_created{path="/"} 1600000000',
      '# TYPE build info',
      'build_info{version="1"} 1',
      '# TYPE up stateset',
      'up{up="a"} 1',
      '# TYPE what unknown',
      'what 4',
      '# TYPE time histogram',
      'time_bucket{le="+Inf"} 1 # {trace="ab"} 0.5',
      'time_sum 1',
      'time_count 1',
      '# EOF',
    ].join('\n');
    expect(application(text, true)).to.equal(
      [
        '# HELP hits_total Hits.',
        '# TYPE hits_total counter',
        'hits_total{path="/"} 17 1700000000500',
        '# TYPE hits_created untyped',
        'hits_created{path="/"} 1600000000',
        '# TYPE build_info gauge',
        'build_info{version="1"} 1',
        '# TYPE up gauge',
        'up{up="a"} 1',
        '# TYPE what untyped',
        'what 4',
        '# TYPE time histogram',
        'time_bucket{le="+Inf"} 1',
        'time_sum 1',
        'time_count 1',
        '',
      ].join('\n'),
    );
  });
});
