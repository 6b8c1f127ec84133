/**
 * This checkout's mixs and that of another one, in turns: `node bench/mixs-compare.ts OTHER_CHECKOUT [rounds] [seconds]`, both built before.
 * Prints microseconds of CPU time for each call, and p99 at half the aim, so that the machine's mood is the same for both.
 */
import { type MixsServer, startMixs } from './mixs-server.ts';

const HALF_THE_AIM = 7_500;
const [other, rounds = '5', seconds = '2'] = process.argv.slice(2);
if (other === undefined) throw new Error('the first argument is the checkout to compare with');

const servers = { other: await startMixs(100, other), this: await startMixs(100) };
type Figures = Record<'check us' | 'report us' | 'p50 ms' | 'p99 ms' | 'max ms' | 'steady us' | 'waited %', number[]>;
const found: Record<string, Figures> = {};

const newFigures = (): Figures => ({
  'check us': [],
  'report us': [],
  'steady us': [],
  'p50 ms': [],
  'p99 ms': [],
  'max ms': [],
  'waited %': [],
});

async function round(name: string, server: MixsServer): Promise<void> {
  const ms = Number(seconds) * 1000;
  const figures = found[name] ?? newFigures();
  found[name] = figures;
  const check = await server.measure('check', ms);
  figures['check us'].push((check.cpu / check.answered) * 1e6);
  const report = await server.measure('report', ms);
  figures['report us'].push((report.cpu / report.answered) * 1e6);
  const steady = await server.measure('check', ms, HALF_THE_AIM);
  figures['steady us'].push((steady.cpu / steady.answered) * 1e6);
  figures['p50 ms'].push(steady.latency.p50);
  figures['p99 ms'].push(steady.latency.p99);
  figures['max ms'].push(steady.latency.max);
  figures['waited %'].push((steady.waited / (steady.wallMs / 1000)) * 100);
}

for (let index = 0; index < Number(rounds); index++)
  for (const [name, server] of Object.entries(servers)) await round(name, server);
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
for (const [name, figures] of Object.entries(found)) {
  const row = Object.entries(figures).map(
    ([what, values]) => `${what} ${median(values).toFixed(1)} (${values.map((value) => value.toFixed(1)).join(' ')})`,
  );
  process.stdout.write(`${name.padEnd(6)} ${row.join('  ')}\n`);
}
for (const server of Object.values(servers)) await server.stop();
