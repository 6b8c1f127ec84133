/** Finds pushes that a proxy neither takes nor refuses. */
import type { DeliveryEvent, TypeUrl } from '../delivery/ports.ts';

/** A proxy answers within milliseconds, one with thousands of listeners to build within seconds. */
const PATIENCE_MS = 30_000;

interface Push {
  readonly streamId: number;
  readonly typeUrl: TypeUrl;
  readonly at: number;
}

export interface PushTimeouts {
  observe(event: DeliveryEvent): void;
  /** Reports every push that is unanswered for too long, once. To be called every few seconds. */
  check(): void;
}

/** `now`: milliseconds of a clock that never goes back. Proxies that poll answer when they poll, so they are left out. */
export function createPushTimeouts(now: () => number, onTimeout: (streamId: number, typeUrl: TypeUrl) => void): PushTimeouts {
  const open = new Map<string, Push>();
  return {
    observe(event) {
      if (event.streamId < 0) return;
      switch (event.type) {
        case 'sent':
          open.set(`${event.streamId} ${event.typeUrl}`, { streamId: event.streamId, typeUrl: event.typeUrl, at: now() });
          return;
        case 'acked':
        case 'nacked':
        case 'timed_out':
          open.delete(`${event.streamId} ${event.typeUrl}`);
          return;
        case 'disconnected':
          for (const [key, push] of open) if (push.streamId === event.streamId) open.delete(key);
          return;
        case 'connected':
        case 'current':
          return;
      }
    },
    check() {
      for (const [key, { streamId, typeUrl, at }] of open) {
        if (now() - at < PATIENCE_MS) continue;
        open.delete(key);
        onTimeout(streamId, typeUrl);
      }
    },
  };
}
