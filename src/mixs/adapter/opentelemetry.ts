import type { OpenTelemetryParams } from '../../rules/adapter/opentelemetry.ts';
import { BatchSender } from '../telemetry/batch-sender.ts';
import { spanOfInstance } from '../telemetry/instance-span.ts';
import { encodeOtlpLog, encodeOtlpSpan, otlpSend, otlpUrl } from '../telemetry/otlp.ts';
import type { AdapterEnvironment, Handler } from './adapter.ts';

/** Sends spans and log entries to a collector. */
export function openOpenTelemetry(params: OpenTelemetryParams, environment: AdapterEnvironment): Handler {
  const { url, deadline, flushInterval, maxQueued } = params;
  const { handler, lost, now, random } = environment;
  const senderOf = (kind: 'traces' | 'logs'): BatchSender =>
    new BatchSender({
      ...environment,
      name: handler,
      target: otlpUrl(url, kind),
      send: otlpSend(url, kind, deadline),
      flushInterval,
      maxRecords: maxQueued,
      onLost: lost,
    });
  const [spans, logs] = [senderOf('traces'), senderOf('logs')];
  return {
    report: (instances) => {
      for (const { template, values } of instances) {
        if (template === 'logentry') logs.add(encodeOtlpLog(values, now()));
        if (template !== 'tracespan') continue;
        const span = spanOfInstance(values, random);
        if (span === undefined) lost(1, 'malformed');
        else spans.add(encodeOtlpSpan(span));
      }
    },
    close: async (signal) => {
      await Promise.all([spans.close(signal), logs.close(signal)]);
    },
  };
}
