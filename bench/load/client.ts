/** A load of gRPC calls, in a process of its own: gets a Job from who forked it, and tells when it measures and what came of it. */
import { Connection, connectTo } from './connection.ts';
import { grpcMessage } from './http2-wire.ts';
import { type Job, type Outcome, quantiles, type Told } from './job.ts';
import { atRate } from './pace.ts';

/** Below what servers allow; what is beyond it waits here, and its wait counts. */
const MOST_STREAMS = 1_000;

const tell = (told: Told): void => void process.send?.(told);

process.once('message', (job: Job) => {
  run(job).then(
    (outcome) => tell({ type: 'done', outcome }),
    (thrown: unknown) => tell({ type: 'failed', why: String(thrown) }),
  );
});

async function run(job: Job): Promise<Outcome> {
  const bodies = job.messages.map((text) => grpcMessage(Buffer.from(text, 'base64')));
  const latencies: number[] = [];
  let fail: (why: Error) => void = () => {};
  const failure = new Promise<never>((_, reject) => {
    fail = reject;
  });
  let next: () => void = () => {};
  const answered = (begin: number): void => {
    latencies.push(performance.now() - begin);
    next();
  };
  const connections = Array.from(
    { length: job.connections },
    () => new Connection(connectTo(job.target), job.target, answered, (why) => fail(new Error(why))),
  );
  let turn = 0;
  const waiting: number[] = [];
  const send = (begin: number): void => {
    turn++;
    const connection = connections[turn % connections.length];
    const body = bodies[turn % bodies.length];
    if (connection === undefined || body === undefined) throw new Error('a load needs a connection and a message');
    if (connection.running >= MOST_STREAMS) waiting.push(begin);
    else connection.send(body, begin);
  };
  const period = async (ms: number): Promise<readonly number[]> => {
    if ('perSecond' in job.load) {
      next = () => {
        const due = waiting.shift();
        if (due !== undefined) send(due);
      };
      return atRate(job.load.perSecond, ms, send);
    }
    const end = performance.now() + ms;
    return new Promise((resolve) => {
      let running = 'atOnce' in job.load ? job.load.atOnce : 0;
      next = () => {
        const now = performance.now();
        if (now < end) send(now);
        else if (--running === 0) resolve([]);
      };
      for (let index = running; index > 0; index--) send(performance.now());
    });
  };
  try {
    await Promise.race([period(job.warmUpMs), failure]);
    latencies.length = 0;
    tell({ type: 'measuring' });
    const begin = performance.now();
    const late = await Promise.race([period(job.measureMs), failure]);
    const wallMs = performance.now() - begin;
    return { answered: latencies.length, wallMs, latency: quantiles(latencies), late: quantiles(late) };
  } finally {
    for (const connection of connections) connection.close();
  }
}
