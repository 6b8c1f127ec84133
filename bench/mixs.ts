/**
 * Checks and reports a second that a real mixs server answers over gRPC, by wall clock and by CPU time of its process, with rules for 10, 100
 * and 1,000 services; and evaluations of expressions. The client is a process of its own. Run it with `node bench/mixs.ts [seconds]` after
 * `npm run build`.
 */
import { vocabularyWith } from '../src/rules/attribute/standard-vocabulary.ts';
import { expressionCompiler } from '../src/rules/expression/compile.ts';
import { bagOf } from '../test/fakes/attributes.ts';
import type { Measured } from './load/run.ts';
import { type MixsServer, startMixs } from './mixs-server.ts';
import { residentMiB } from './resident.ts';

const measureMs = Number(process.argv[2] ?? 3) * 1000;
const HALF_THE_AIM = 7_500;

interface Row {
  readonly 'per s': number;
  readonly 'us of CPU each': number;
  readonly 'p50 ms': number;
  readonly 'p99 ms': number;
  readonly 'p99 late ms'?: number;
  /** Of the time that the server was measured, how much its main thread had no core. */
  readonly 'without a core': string;
  readonly 'GC ms/s': number;
  readonly 'resident MiB': number;
}

async function row(server: MixsServer, measure: () => Promise<Measured>): Promise<Row> {
  const before = await server.metric('nodejs_gc_duration_seconds_sum{kind="minor"}');
  const found = await measure();
  const collecting = (await server.metric('nodejs_gc_duration_seconds_sum{kind="minor"}')) - before;
  const seconds = found.wallMs / 1000;
  return {
    'per s': Math.round(found.answered / seconds),
    'us of CPU each': Number(((found.cpu / found.answered) * 1e6).toFixed(1)),
    'p50 ms': found.latency.p50,
    'p99 ms': found.latency.p99,
    ...(found.late.max === 0 ? {} : { 'p99 late ms': found.late.p99 }),
    'without a core': `${Math.round((found.waited / seconds) * 100)} %`,
    'GC ms/s': Math.round((collecting / seconds) * 1000),
    'resident MiB': Math.round(residentMiB(server.pid)),
  };
}

function expressions(): Readonly<Record<string, { readonly 'per s of CPU': number }>> {
  const compile = expressionCompiler(vocabularyWith(new Map()));
  const bag = bagOf({
    'destination.service': 'a.foo.svc.cluster.local',
    'source.namespace': 'foo',
    'request.path': '/api/v1/items',
    'request.headers': new Map([['x-user', 'me']]),
  });
  const texts = [
    'destination.service == "a.foo.svc.cluster.local" && source.namespace != "bar"',
    'request.headers["x-user"] == "me" || request.path.startsWith("/api/")',
    '"^/api/v[12]/".matches(request.path)',
  ];
  const count = 1_000_000;
  return Object.fromEntries(
    texts.map((text) => {
      const { evaluate } = compile(text, 'BOOL');
      for (let index = 0; index < count / 10; index++) evaluate(bag);
      const begin = process.cpuUsage();
      for (let index = 0; index < count; index++) evaluate(bag);
      const { user, system } = process.cpuUsage(begin);
      return [text, { 'per s of CPU': Math.round(count / ((user + system) / 1e6)) }];
    }),
  );
}

process.stdout.write('mixs: evaluations of expressions\n');
console.table(expressions());
const rows: Record<string, Row> = {};
for (const services of [10, 100, 1_000]) {
  const server = await startMixs(services);
  try {
    const rules = `rules for ${services} services`;
    rows[`check, ${rules}`] = await row(server, () => server.measure('check', measureMs));
    if (services === 100) {
      rows[`check, ${HALF_THE_AIM} a second`] = await row(server, () => server.measure('check', measureMs, HALF_THE_AIM));
    }
    rows[`report, ${rules}`] = await row(server, () => server.measure('report', measureMs));
  } finally {
    await server.stop();
  }
}
process.stdout.write('mixs: requests over gRPC\n');
console.table(rows);
