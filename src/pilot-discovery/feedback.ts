/** What comes back from the proxies: kept for the debug pages, counted, and logged where somebody must act. */
import type { DeliveryEvent } from '../delivery/ports.ts';
import type { Logger } from '../io/log/logger.ts';
import type { Metrics } from './metrics.ts';
import { type Proxies, workloadOf } from './proxies.ts';
import type { Publisher } from './publisher.ts';
import { objectsBehind } from './rejections.ts';
import { resourceTypeName } from './resource-types.ts';

/** Publication times are kept for so many snapshots; a proxy further behind is not measured. */
const KEPT_TIMES = 256;

export interface Feedback {
  readonly observe: (event: DeliveryEvent) => void;
  /** To be told of every snapshot before it is published, with the time of its first change. */
  readonly onPublish: (since: number) => void;
}

export function createFeedback(publisher: Publisher, proxies: Proxies, metrics: Metrics, logger: Logger): Feedback {
  const changedAt = new Map<number, number>();

  function logEvent(event: DeliveryEvent): void {
    switch (event.type) {
      case 'connected':
      case 'disconnected':
        return logger.info(`proxy ${event.type}`, { proxy: workloadOf(event.node.id), stream: event.streamId });
      case 'nacked':
        return logRejection(event);
      case 'timed_out':
        return logger.warn('proxy does not read its configuration; its stream was closed', {
          proxy: proxyName(event.streamId),
          type: event.typeUrl,
        });
      case 'current':
        return measure(event.sequence);
      case 'sent':
        return logger.debug('sent', {
          proxy: proxyName(event.streamId),
          type: resourceTypeName(event.typeUrl),
          version: event.version,
        });
      case 'acked':
        return;
    }
  }

  function logRejection(event: Extract<DeliveryEvent, { readonly type: 'nacked' }>): void {
    const proxy = proxies.get(event.streamId);
    const { snapshot } = publisher;
    const objects =
      proxy === undefined || snapshot === undefined ? [] : objectsBehind(snapshot, proxy.node, event.typeUrl, event.message);
    logger.error('proxy rejected its configuration; it keeps the last good one', {
      proxy: proxyName(event.streamId),
      type: resourceTypeName(event.typeUrl) ?? event.typeUrl,
      objects: objects.join(', '),
      reason: event.message,
    });
  }

  function measure(sequence: number): void {
    const since = changedAt.get(sequence);
    if (since !== undefined) metrics.converged(performance.now() - since);
  }

  function proxyName(streamId: number): string {
    return workloadOf(proxies.get(streamId)?.node.id ?? `stream ${streamId}`);
  }

  return {
    observe(event) {
      logEvent(event);
      proxies.observe(event);
      metrics.observe(event);
    },
    onPublish(since) {
      const sequence = publisher.sequence + 1;
      changedAt.set(sequence, since);
      changedAt.delete(sequence - KEPT_TIMES);
    },
  };
}
