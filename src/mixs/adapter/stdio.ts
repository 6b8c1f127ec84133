import type { Writable } from 'node:stream';
import { LogFile, type LossReport } from '../../io/log/log-file.ts';
import { lossReport } from '../../io/log/loss-report.ts';
import { pipeStream } from '../../io/log/pipe-stream.ts';
import type { StdioLevel, StdioParams } from '../../rules/adapter/stdio.ts';
import type { TypedValue } from '../../rules/attribute/value.ts';
import type { BuiltInstance, ReportTemplate } from '../../rules/template/instances.ts';
import type { AdapterEnvironment, Handler, LossReason } from './adapter.ts';
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

function openSink({ target }: StdioParams, environment: AdapterEnvironment): Sink {
  const { handler, logger, stdout, stderr } = environment;
  if (target.type === 'file') {
    const file = new LogFile(target.path, countedLosses(`${handler}: "${target.path}"`, 'refused', environment));
    if (!file.tryOpen()) logger.warn('a file cannot be opened: its lines are lost until it can', { handler, path: target.path });
    return { write: (line) => file.write(Buffer.from(line)), close: () => file.close() };
  }
  const stream: Writable = pipeStream(
    target.type === 'stdout' ? stdout : stderr,
    countedLosses(`${handler}: ${target.type}`, 'queue full', environment),
  );
  return { write: (line) => stream.write(line), close: () => {} };
}

/** Tells standard error of an outage, as logs do, and counts each line. */
function countedLosses(name: string, reason: LossReason, { stderr, now, lost }: AdapterEnvironment): LossReport {
  const report = lossReport(name, stderr, now);
  return {
    ...report,
    lost: (error) => {
      lost(1, reason);
      report.lost(error);
    },
  };
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
      level: severityLevels.get(severity) ?? 'INFO',
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
