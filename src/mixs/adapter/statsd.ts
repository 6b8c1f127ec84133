import { StatsD } from 'hot-shots';
import type { StatsdMetric, StatsdParams } from '../../rules/adapter/statsd.ts';
import type { Instances } from '../../rules/template/instances.ts';
import type { AdapterEnvironment, Handler } from './adapter.ts';
import { numberOf, textOf } from './value-text.ts';

const MS_PER_S = 1_000;
/** Packets that are not sent yet: a name server that hangs would have them wait without an end. */
const MAX_UNSENT = 1_000;

/** Sends metrics over UDP: whether anybody takes them is not known, and nothing waits for it. */
export function openStatsd(params: StatsdParams, { handler, logger, lost }: AdapterEnvironment): Handler {
  const { host, port, prefix, flushBytes, flushDuration, samplingRate, metrics } = params;
  let told = false;
  const client = new StatsD({
    host,
    port,
    prefix,
    maxBufferSize: flushBytes,
    bufferFlushInterval: flushDuration,
    cacheDns: true,
    includeDatadogTelemetry: false,
    errorHandler: (error) => {
      lost(1, 'refused');
      if (!told) logger.warn('packets cannot be sent to statsd', { handler, server: `${host}:${port}`, reason: error.message });
      told = true;
    },
  });
  return {
    report: (instances) => {
      for (const { template, values } of instances) {
        if (template !== 'metric') continue;
        for (const metric of metrics) {
          if (metric.instance !== values.name) continue;
          if (unsent(client) < MAX_UNSENT) send(client, metric, values, samplingRate);
          else lost(1, 'queue full');
        }
      }
    },
    close: () => new Promise((resolve) => client.close(() => resolve())),
  };
}

/** The client's own count, which its types do not have. */
function unsent(client: StatsD): number {
  const count: unknown = Reflect.get(client, 'messagesInFlight');
  return typeof count === 'number' ? count : 0;
}

function send(
  client: StatsD,
  { type, name }: StatsdMetric,
  { value, dimensions }: Instances['metric'],
  samplingRate: number,
): void {
  const number = numberOf(value);
  if (number === undefined) return;
  const full = name.map((part) => ('text' in part ? part.text : safe(dimensions[part.dimension]))).join('');
  switch (type) {
    case 'COUNTER':
      client.increment(full, number, samplingRate);
      return;
    case 'GAUGE':
      client.gauge(full, number);
      return;
    case 'DISTRIBUTION':
      // What statsd makes distributions of are its timers, in milliseconds.
      client.timing(full, value.type === 'DURATION' ? number * MS_PER_S : number, samplingRate);
  }
}

/** A value as a part of a name: what has a meaning in statsd's lines, or makes levels of names, would be another's metric. */
function safe(value: Instances['metric']['dimensions'][string] | undefined): string {
  return value === undefined ? 'unknown' : textOf(value).replaceAll(/[^A-Za-z0-9_-]/g, '_');
}
