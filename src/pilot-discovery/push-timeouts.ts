/** Finds pushes that a proxy neither takes nor refuses. */
import type { DeliveryEvent, TypeUrl } from '../delivery/ports.ts';

/** A proxy answers within milliseconds, one with thousands of listeners to build within seconds. */
const PATIENCE_MS = 30_000;

export interface PushTimeouts {
  observe(event: DeliveryEvent): void;
  /** Reports every push that is unanswered for too long, once. To be called every few seconds. */
  check(): void;
}

/** `now`: milliseconds of a clock that never goes back. Proxies that poll answer when they poll, so they are left out. */
export function createPushTimeouts(now: () => number, onTimeout: (streamId: number, typeUrl: TypeUrl) => void): PushTimeouts {
  /** By stream and type: since when. */
  const open = new Map<number, Map<TypeUrl, number>>();
  return {
    observe(event) {
      if (event.streamId < 0) return;
      switch (event.type) {
        case 'connected':
          open.set(event.streamId, new Map());
          return;
        case 'disconnected':
          open.delete(event.streamId);
          return;
        case 'sent':
          open.get(event.streamId)?.set(event.typeUrl, now());
          return;
        case 'acked':
        case 'nacked':
        case 'timed_out':
          open.get(event.streamId)?.delete(event.typeUrl);
          return;
        case 'current':
          return;
      }
    },
    check() {
      for (const [streamId, pushes] of open) {
        for (const [typeUrl, since] of pushes) {
          if (now() - since < PATIENCE_MS) continue;
          pushes.delete(typeUrl);
          onTimeout(streamId, typeUrl);
        }
      }
    },
  };
}
