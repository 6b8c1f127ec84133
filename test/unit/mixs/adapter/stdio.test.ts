import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openStdio } from '../../../../src/mixs/adapter/stdio.ts';
import { stdio } from '../../../../src/rules/adapter/stdio.ts';
import type { BuiltInstance, ReportTemplate } from '../../../../src/rules/template/instances.ts';
import { adapterEnvironment } from '../../../fakes/adapter-environment.ts';

const entry = (severity: string): BuiltInstance<ReportTemplate> => ({
  template: 'logentry',
  values: {
    name: 'log.logentry.ns',
    timestamp: 1_527_854_400_250_000_000n,
    severity,
    variables: {
      user: { type: 'STRING', value: 'a\n"b' },
      size: { type: 'INT64', value: 5n },
      took: { type: 'DURATION', value: 15_000_000n },
    },
    monitoredResourceDimensions: {},
  },
});

function open(spec: object) {
  const params = stdio.parse(spec, []);
  if (!params.ok) throw new Error(JSON.stringify(params.problems));
  const environment = adapterEnvironment();
  const handler = openStdio(params.value, environment);
  return {
    handler,
    environment,
    report: (...instances: BuiltInstance<ReportTemplate>[]) => handler.report?.(instances, { signal: environment.signal }),
  };
}

describe('the stdio adapter', () => {
  it('writes one line of JSON for each entry, whatever is in it', () => {
    const { report, environment } = open({ severityLevels: { bad: 'ERROR' } });
    void report(entry('bad'));
    expect(
      environment
        .written()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
    ).to.deep.equal([
      { level: 'error', time: '2018-06-01T12:00:00.25Z', instance: 'log.logentry.ns', user: 'a\n"b', size: 5, took: '15ms' },
    ]);
  });

  it('leaves out what is below the level that is asked for', () => {
    const { report, environment } = open({ severityLevels: { bad: 'ERROR' }, outputLevel: 'WARNING', outputAsJson: false });
    void report(entry('default'), entry('bad'));
    expect(environment.written()).to.equal(
      '2018-06-01T12:00:00.25Z\terror\tlog.logentry.ns\t{"user":"a\\n\\"b","size":5,"took":"15ms"}\n',
    );
  });

  it('takes a severity for what it is, whatever it is called', () => {
    const { report, environment } = open({ outputAsJson: false });
    void report(entry('constructor'), entry('__proto__'), entry('toString'));
    expect(environment.written().match(/\tinfo\t/g)).to.have.lengthOf(3);
  });

  it('counts the lines that it loses, and writes the others once it can', () => {
    const dir = mkdtempSync(join(tmpdir(), 'stdio-'));
    try {
      const path = join(dir, 'later', 'out');
      const { report, environment } = open({ logStream: 'FILE', outputPath: path });
      void report(entry('a'), entry('b'));
      expect(environment.losses.get('refused')).to.equal(2);
      mkdirSync(join(dir, 'later'));
      void report(entry('c'));
      expect(environment.losses.get('refused')).to.equal(2);
      expect(readFileSync(path, 'utf8').split('\n')).to.have.lengthOf(2);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('counts what a full disk does not take', () => {
    const { report, environment } = open({ logStream: 'FILE', outputPath: '/dev/full' });
    void report(entry('a'), entry('b'));
    expect(environment.losses.get('refused')).to.equal(2);
    expect(environment.written())
      .to.match(/^error: h\.x\.mesh-system: "\/dev\/full" cannot be written.*ENOSPC/)
      .and.match(/^[^\n]*\n$/);
  });

  it('writes metrics to a file', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'stdio-'));
    try {
      const path = join(dir, 'out');
      const { report, handler } = open({ logStream: 'FILE', outputPath: path });
      const values = {
        name: 'm',
        value: { type: 'INT64', value: 2n ** 60n },
        dimensions: {},
        monitoredResourceDimensions: {},
      } as const;
      void report({ template: 'metric', values });
      await handler.close(new AbortController().signal);
      expect(JSON.parse(readFileSync(path, 'utf8'))).to.deep.equal({
        level: 'info',
        time: '2018-06-01T12:00:00Z',
        instance: 'm',
        value: '1152921504606846976',
      });
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('needs a path for a file', () => {
    const parsed = stdio.parse({ logStream: 'FILE' }, []);
    expect(parsed.ok ? [] : parsed.problems).to.deep.equal([{ path: 'outputPath', message: 'is required' }]);
  });
});
