import { expect } from 'chai';
import { milliseconds, seconds } from '../../../../src/lib/duration.ts';
import { type ErrorCode, MeshError } from '../../../../src/lib/errors.ts';
import { BatchSender } from '../../../../src/mixs/telemetry/batch-sender.ts';
import { adapterEnvironment } from '../../../fakes/adapter-environment.ts';

type Answer = number | ErrorCode;

/** A sender whose back end gives these answers, one a message, and then takes everything. */
function sender(
  answers: readonly Answer[],
  options: { readonly maxRecords?: number; readonly flushInterval?: number; readonly retryAfter?: number } = {},
) {
  const environment = adapterEnvironment();
  const sent: number[] = [];
  const told = new Set<() => void>();
  const left = [...answers];
  const batches = new BatchSender({
    ...environment,
    name: 'h',
    target: 'there',
    flushInterval: milliseconds(options.flushInterval ?? 1),
    maxRecords: options.maxRecords ?? 10_000,
    ...(options.retryAfter === undefined
      ? {}
      : { backoff: { first: seconds(options.retryAfter), longest: seconds(options.retryAfter) } }),
    onLost: environment.lost,
    send: async (records) => {
      sent.push(records.length);
      for (const resolve of told) resolve();
      const answer = left.shift() ?? 0;
      if (typeof answer === 'string') throw new MeshError(answer, 'no');
      return answer;
    },
  });
  const add = (count: number, text = '{}'): void => {
    for (let index = 0; index < count; index++) batches.add({ group: '', text });
  };
  const close = (): Promise<void> => batches.close(new AbortController().signal);
  /** Resolves when so many messages were sent. */
  const until = async (count: number): Promise<void> => {
    while (sent.length < count) await new Promise<void>((resolve) => told.add(resolve));
  };
  const { losses, logger } = environment;
  return { add, close, until, sent, losses, logger, entries: logger.entries, batches };
}

describe('the sender of batches', () => {
  it('sends what waits together, in bounded messages', async () => {
    const { add, close, sent } = sender([], { flushInterval: 60_000 });
    add(1_234);
    await close();
    expect(sent).to.deep.equal([500, 500, 234]);
  });

  it('bounds a message by its bytes too', async () => {
    const { add, close, sent } = sender([]);
    add(5, 'x'.repeat(300_000));
    await close();
    expect(sent).to.deep.equal([3, 2]);
  });

  it('tries again what a back end cannot take now', async () => {
    const { add, close, sent, losses, entries } = sender(['unavailable']);
    add(3);
    await close();
    expect(sent).to.deep.equal([3, 3]);
    expect(losses.size).to.equal(0);
    expect(entries.map(({ level }) => level)).to.deep.equal(['warn', 'info']);
  });

  it('loses what a back end refuses, counts it, and logs it once', async () => {
    const { add, close, sent, losses, entries } = sender(['invalid', 'invalid', 7]);
    add(1_400);
    await close();
    expect(sent).to.deep.equal([500, 500, 400]);
    expect(losses.get('refused')).to.equal(1_007);
    expect(entries).to.have.length(1);
  });

  it('keeps a bounded number of records and bytes', async () => {
    const few = sender([], { maxRecords: 10, flushInterval: 60_000 });
    few.add(12);
    expect(few.batches.waiting).to.equal(10);
    expect(few.losses.get('queue full')).to.equal(2);
    await few.close();
    const large = sender(['unavailable'], { flushInterval: 60_000 });
    large.add(10, 'x'.repeat(1_000_000));
    expect(large.losses.get('queue full')).to.equal(2);
    large.add(1, 'x'.repeat(2_000_000));
    expect(large.losses.get('queue full')).to.equal(3);
    await large.close();
  });

  it('does not wait for more when half of its places are taken', async () => {
    const { add, until, sent, close } = sender([], { maxRecords: 10, flushInterval: 60_000 });
    add(5);
    await until(1);
    expect(sent).to.deep.equal([5]);
    await close();
  });

  it('tries once more what waits for its turn when it is closed', async () => {
    const { add, close, sent, logger, losses } = sender(['unavailable'], { retryAfter: 3_600 });
    add(1);
    await logger.until(1);
    await close();
    expect(sent).to.deep.equal([1, 1]);
    expect(losses.size).to.equal(0);
  });

  it('takes nothing any more once it is closed', async () => {
    const { add, close, sent, losses } = sender([]);
    await close();
    add(1);
    expect(sent).to.deep.equal([]);
    expect(losses.get('shutdown')).to.equal(1);
  });
});
