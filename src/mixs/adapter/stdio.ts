import type { Writable } from 'node:stream';
import { LogFile } from '../../io/log/log-file.ts';
import { lossReport } from '../../io/log/loss-report.ts';
import { pipeStream } from '../../io/log/pipe-stream.ts';
import type { StdioLevel, StdioParams } from '../../rules/adapter/stdio.ts';
import type { TypedValue } from '../../rules/attribute/value.ts';
import type { BuiltInstance, ReportTemplate } from '../../rules/template/instances.ts';
import type { AdapterEnvironment, Handler } from './adapter.ts';
import { jsonOf, timestampText } from './value-text.ts';

const RANK: Readonly<Record<StdioLevel, number>> = { INFO: 0, WARNING: 1, ERROR: 2 };
const NANOS_PER_MS = 1_000_000n;

/** Writes a line for each log entry and metric. */
export function openStdio(params: StdioParams, environment: AdapterEnvironment): Handler {
  const sink = openSink(params, environment);
  const { now } = environment;
  return {
    report: (instances) => {
      for (const instance of instances) {
        const line = lineOf(instance, params, now());
        if (line !== undefined && RANK[line.level] >= RANK[params.outputLevel]) sink.write(`${format(line, params.json)}\n`);
      }
    },
    close: async () => sink.close(),
  };
}

interface Sink {
  write(line: string): void;
  close(): void;
}

function openSink({ target }: StdioParams, { handler, stdout, stderr, now }: AdapterEnvironment): Sink {
  if (target.type === 'file') {
    const file = new LogFile(target.path, lossReport(`${handler}: "${target.path}"`, stderr, now));
    file.open();
    return { write: (line) => file.write(Buffer.from(line)), close: () => file.close() };
  }
  const stream: Writable = pipeStream(
    target.type === 'stdout' ? stdout : stderr,
    lossReport(`${handler}: ${target.type}`, stderr, now),
  );
  return { write: (line) => stream.write(line), close: () => {} };
}

interface Line {
  readonly time: string;
  readonly level: StdioLevel;
  readonly instance: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

function lineOf(built: BuiltInstance<ReportTemplate>, { severityLevels, metricLevel }: StdioParams, now: Date): Line | undefined {
  if (built.template === 'logentry') {
    const { name, timestamp, severity, variables } = built.values;
    return {
      time: timestampText(timestamp),
      level: severityLevels[severity] ?? 'INFO',
      instance: name,
      fields: fieldsOf(variables),
    };
  }
  if (built.template !== 'metric') return undefined;
  const { name, value, dimensions } = built.values;
  const time = timestampText(BigInt(now.getTime()) * NANOS_PER_MS);
  return { time, level: metricLevel, instance: name, fields: { value: jsonOf(value), ...fieldsOf(dimensions) } };
}

function fieldsOf(values: Readonly<Record<string, TypedValue>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, jsonOf(value)]));
}

/** One line, whatever is in the values: JSON escapes what would end it. */
function format({ time, level, instance, fields }: Line, json: boolean): string {
  if (json) return JSON.stringify({ level: level.toLowerCase(), time, instance, ...fields });
  return [time, level.toLowerCase(), instance, JSON.stringify(fields)].join('\t');
}
