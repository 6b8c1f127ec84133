import { expect } from 'chai';
import type { DeliveryEvent } from '../../../src/delivery/ports.ts';
import { createMetrics } from '../../../src/pilot-discovery/metrics.ts';
import { createPushTimeouts, type PushTimeouts } from '../../../src/pilot-discovery/push-timeouts.ts';
import { TYPE_URLS } from '../../../src/pilot-discovery/resource-types.ts';

const event = (type: 'sent' | 'acked', streamId = 1): DeliveryEvent => ({
  type,
  streamId,
  typeUrl: TYPE_URLS.listener,
  version: 'v',
  nonce: '1',
  sequence: 1,
});

const NODE = { id: 'x', cluster: '', metadata: {}, userAgent: '' };

const connect = (watched: PushTimeouts, streamId: number): void => watched.observe({ type: 'connected', streamId, node: NODE });

describe('pushes that nobody answers', () => {
  let now = 0;
  const late: number[] = [];
  const timeouts = () =>
    createPushTimeouts(
      () => now,
      (streamId) => late.push(streamId),
    );

  beforeEach(() => {
    now = 0;
    late.length = 0;
  });

  it('are reported once, after a time in which any proxy answers', () => {
    const watched = timeouts();
    connect(watched, 1);
    watched.observe(event('sent'));
    for (const at of [29_000, 31_000, 60_000]) {
      now = at;
      watched.check();
    }
    expect(late).to.deep.equal([1]);
  });

  it('are none when the proxy answers, goes, or polls', () => {
    const watched = timeouts();
    for (const streamId of [1, 2, -1]) {
      connect(watched, streamId);
      watched.observe(event('sent', streamId));
    }
    watched.observe(event('acked', 1));
    watched.observe({ type: 'disconnected', streamId: 2, node: NODE });
    now = 60_000;
    watched.check();
    expect(late).to.deep.equal([]);
  });

  it('are counted, as responses are that a proxy does not read', async () => {
    const metrics = createMetrics('1');
    metrics.pushTimedOut();
    metrics.observe({ type: 'timed_out', streamId: 1, typeUrl: TYPE_URLS.listener });
    expect(await metrics.text())
      .to.include('pilot_xds_push_timeout 1')
      .and.include('pilot_xds_write_timeout 1');
  });
});
