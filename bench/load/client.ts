/** A load of calls, in a process of its own: gets a Job from who forked it, and tells when it measures and what came of it. */
import { type Caller, GrpcConnection } from './connection.ts';
import { Http1Connection } from './http1-connection.ts';
import { type Job, type Outcome, quantiles, type Told } from './job.ts';
import { atRate } from './pace.ts';

const tell = (told: Told): void => void process.send?.(told);

process.once('message', (job: Job) => {
  run(job).then(
    (outcome) => tell({ type: 'done', outcome }),
    (thrown: unknown) => tell({ type: 'failed', why: String(thrown) }),
  );
});

async function run(job: Job): Promise<Outcome> {
  const bodies = job.messages.map((text) => Buffer.from(text, 'base64'));
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
  const Protocol = job.target.protocol === 'gRPC' ? GrpcConnection : Http1Connection;
  const listener = { answered, failed: (why: string) => fail(new Error(why)) };
  const connections = Array.from({ length: job.connections }, (): Caller => new Protocol(job.target, listener));
  let turn = 0;
  const waiting: number[] = [];
  const send = (begin: number): void => {
    turn++;
    const first = connections[turn % connections.length];
    const connection = first?.isFree ? first : connections.find(({ isFree }) => isFree);
    const body = bodies[turn % bodies.length];
    if (body === undefined) throw new Error('a load needs a message');
    if (connection === undefined) waiting.push(begin);
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
