import type { Logger } from '../../io/log/logger.ts';
import { DEFAULT_TELEMETRY_LIMITS } from '../../rules/adapter/telemetry-limits.ts';
import type { LossReason } from '../adapter/adapter.ts';
import { BatchSender, type Encoded } from './batch-sender.ts';
import { encodeOtlpSpan, otlpSend, otlpUrl } from './otlp.ts';
import type { Span } from './span.ts';
import { encodeZipkin, zipkinSend, zipkinUrl } from './zipkin.ts';

export interface CollectorFlags {
  readonly trace_collectorA_url: string;
  readonly trace_collectorB_url: string;
  readonly trace_log_spans: boolean;
}

export interface CollectorDeps {
  readonly logger: Logger;
  readonly random: () => number;
  readonly lost: (collector: string, reason: LossReason, spans: number) => void;
}

/** Where spans of mixs itself go. */
export interface Collectors {
  readonly record: (span: Span) => void;
  /** Sends what waits, for as long as the signal allows. */
  close(signal: AbortSignal): Promise<void>;
}

/** What the flags ask for; `undefined` where they ask for nothing. */
export function openCollectors(flags: CollectorFlags, deps: CollectorDeps): Collectors | undefined {
  const { trace_collectorA_url: urlA, trace_collectorB_url: urlB, trace_log_spans: isLogged } = flags;
  const { deadline, flushInterval, maxQueued } = DEFAULT_TELEMETRY_LIMITS;
  const { logger, random, lost } = deps;
  // They end by being closed.
  const { signal } = new AbortController();
  const senders: { readonly sender: BatchSender; readonly encode: (span: Span) => Encoded }[] = [];
  const add = (name: string, target: string, send: ReturnType<typeof zipkinSend>, encode: (span: Span) => Encoded): void => {
    const onLost = (spans: number, reason: LossReason): void => lost(name, reason, spans);
    const options = { name, target, send, flushInterval, maxRecords: maxQueued, onLost, logger, random, signal };
    senders.push({ sender: new BatchSender(options), encode });
  };
  if (urlA !== '') add('trace_collectorA', otlpUrl(urlA, 'traces'), otlpSend(urlA, 'traces', deadline), encodeOtlpSpan);
  if (urlB !== '') add('trace_collectorB', zipkinUrl(urlB), zipkinSend(urlB, deadline), encodeZipkin);
  if (senders.length === 0 && !isLogged) return undefined;
  return {
    record: (span) => {
      for (const { sender, encode } of senders) sender.add(encode(span));
      if (isLogged) logSpan(span, logger);
    },
    close: async (limit) => {
      await Promise.all(senders.map(({ sender }) => sender.close(limit)));
    },
  };
}

function logSpan({ traceId, spanId, parentSpanId, name, start, end, failed }: Span, logger: Logger): void {
  const milliseconds = Number(end - start) / 1e6;
  logger.info('span', { name, traceId, spanId, ...(parentSpanId === undefined ? {} : { parentSpanId }), milliseconds, failed });
}
