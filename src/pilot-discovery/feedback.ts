/** What comes back from the proxies: kept for the debug pages, counted, and logged where somebody must act. */
import type { DeliveryEvent, TypeUrl } from '../delivery/ports.ts';
import type { Logger } from '../io/log/logger.ts';
import type { Metrics } from './metrics.ts';
import { type Proxies, workloadOf } from './proxies.ts';
import type { Publisher } from './publisher.ts';
import { createPushTimeouts } from './push-timeouts.ts';
import { MAX_MESSAGE, RejectedConfigurations } from './rejected.ts';
import { createRejectionLog } from './rejection-log.ts';
import { describeName, objectsBehind } from './rejections.ts';
import { resourceTypeName } from './resource-types.ts';

/** Publication times are kept for so many snapshots; a proxy further behind is not measured. */
const KEPT_TIMES = 256;

export interface Feedback {
  readonly observe: (event: DeliveryEvent) => void;
  /** To be told of every snapshot before it is published, with the time of its first change. */
  readonly onPublish: (since: number) => void;
  /** When the snapshot in force was published. */
  readonly pushedAt: () => Date | undefined;
  readonly rejected: RejectedConfigurations;
  /** Looks for proxies that do not answer, and says what is left to say. To be called every few seconds. */
  readonly check: () => void;
}

export interface FeedbackDeps {
  readonly publisher: Publisher;
  readonly proxies: Proxies;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly now: () => Date;
  /** Runs after something was rejected, or a rejection was cleared. */
  readonly onRejections: () => void;
}

export function createFeedback({ publisher, proxies, metrics, logger, now, onRejections }: FeedbackDeps): Feedback {
  const changedAt = new Map<number, number>();
  let pushedAt: Date | undefined;
  const rejected = new RejectedConfigurations({
    objectsBehind: (node, typeUrl, message) =>
      publisher.snapshot === undefined ? [] : objectsBehind(publisher.snapshot, node, typeUrl, message),
    nodeOf: (streamId) => proxies.get(streamId)?.node,
    now,
    onChange: onRejections,
  });
  const timeouts = createPushTimeouts(
    () => performance.now(),
    (streamId, typeUrl) => {
      metrics.pushTimedOut();
      logger.warn('proxy neither takes nor rejects its configuration', describe(streamId, typeUrl));
    },
  );

  const rejections = createRejectionLog(logger, () => performance.now());

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
        return logger.debug('sent', { ...describe(event.streamId, event.typeUrl), version: event.version });
      case 'acked':
        return;
    }
  }

  function logRejection({ streamId, typeUrl, message }: Extract<DeliveryEvent, { readonly type: 'nacked' }>): void {
    const objects = rejected.objectsOf(streamId, typeUrl).map(describeName);
    rejections.add({ ...describe(streamId, typeUrl), objects: objects.join(', '), reason: message.slice(0, MAX_MESSAGE) });
  }

  function measure(sequence: number): void {
    const since = changedAt.get(sequence);
    if (since !== undefined) metrics.converged(performance.now() - since);
  }

  function describe(streamId: number, typeUrl: TypeUrl): { readonly proxy: string; readonly type: string } {
    return { proxy: proxyName(streamId), type: resourceTypeName(typeUrl) ?? typeUrl };
  }

  function proxyName(streamId: number): string {
    return workloadOf(proxies.get(streamId)?.node.id ?? `stream ${streamId}`);
  }

  return {
    observe(event) {
      rejected.observe(event);
      logEvent(event);
      proxies.observe(event);
      metrics.observe(event);
      timeouts.observe(event);
    },
    onPublish(since) {
      const sequence = publisher.sequence + 1;
      changedAt.set(sequence, since);
      changedAt.delete(sequence - KEPT_TIMES);
      pushedAt = now();
    },
    pushedAt: () => pushedAt,
    rejected,
    check() {
      timeouts.check();
      rejections.flush();
    },
  };
}
