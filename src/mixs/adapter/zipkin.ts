import type { ZipkinParams } from '../../rules/adapter/zipkin.ts';
import { BatchSender } from '../telemetry/batch-sender.ts';
import { spanOfInstance } from '../telemetry/instance-span.ts';
import { encodeZipkin, zipkinSend, zipkinUrl } from '../telemetry/zipkin.ts';
import type { AdapterEnvironment, Handler } from './adapter.ts';

const ID_RANGE = 2 ** 32;

/** Sends spans to Zipkin. */
export function openZipkin(params: ZipkinParams, environment: AdapterEnvironment): Handler {
  const { url, sampleProbability, deadline, flushInterval, maxQueued } = params;
  const { handler, lost, random } = environment;
  const sender = new BatchSender({
    ...environment,
    name: handler,
    target: zipkinUrl(url),
    send: zipkinSend(url, deadline),
    flushInterval,
    maxRecords: maxQueued,
    onLost: lost,
  });
  return {
    report: (instances) => {
      for (const { template, values } of instances) {
        if (template !== 'tracespan') continue;
        const span = spanOfInstance(values, random);
        if (span === undefined) lost(1, 'malformed');
        else if (isSampled(span.traceId, sampleProbability)) sender.add(encodeZipkin(span));
      }
    },
    close: (signal) => sender.close(signal),
  };
}

/** The same for all spans of a trace, whichever server gets them. */
function isSampled(traceId: string, probability: number): boolean {
  return Number.parseInt(traceId.slice(-8), 16) < probability * ID_RANGE;
}
