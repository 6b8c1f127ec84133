/** What of adsload's report is printed. Times in milliseconds, CPU in seconds, memory in MiB. */

interface Counts {
  readonly bytes: number;
}

interface Phase {
  readonly received: Readonly<Record<string, Counts>>;
  readonly server_cpu_s: number;
}

interface Times {
  readonly p50_ms: number;
  readonly p99_ms: number;
}

export interface AdsloadReport {
  readonly initial: {
    readonly clients: number;
    readonly synced: number;
    readonly sync: Times;
    readonly until_synced: Phase;
  };
  readonly changes: readonly (Phase & { readonly name: string; readonly missing: number; readonly convergence: Times })[];
  readonly server_end: { readonly rss_peak_mib: number };
}

/** The changes that the generator writes. */
const CHANGES: Readonly<Record<string, string>> = { endpoint: 'one endpoint changed', service: 'one service added' };

/** One line for each thing that was measured: name and figures. */
export function rowsOf(report: AdsloadReport): readonly (readonly [name: string, figures: string])[] {
  const { initial, changes, server_end: end } = report;
  const { sync, until_synced: first } = initial;
  const lost = initial.clients - initial.synced;
  const names = [...new Set(changes.map(({ name }) => name))];
  return [
    [
      'first sync',
      `p50 ${seconds(sync.p50_ms)}  p99 ${seconds(sync.p99_ms)}  server CPU ${first.server_cpu_s.toFixed(2)} s  ${megabytes(first)}` +
        (lost === 0 ? '' : `  ${lost} clients never in sync`),
    ],
    ...names.map((name): readonly [string, string] => [
      CHANGES[name] ?? name,
      changeFigures(changes.filter((c) => c.name === name)),
    ]),
    ['peak memory of the run', `${end.rss_peak_mib.toFixed(0)} MiB`],
  ];
}

function changeFigures(changes: AdsloadReport['changes']): string {
  const p99 = changes.map(({ convergence }) => convergence.p99_ms).toSorted((a, b) => a - b);
  const middle = changes[Math.floor(changes.length / 2)];
  const missing = changes.reduce((sum, change) => sum + change.missing, 0);
  const cpu = changes.reduce((sum, change) => sum + change.server_cpu_s, 0) / changes.length;
  return (
    `p99 of ${changes.length}: ${(p99[0] ?? Number.NaN).toFixed(0)}-${(p99.at(-1) ?? Number.NaN).toFixed(0)} ms` +
    `  server CPU ${cpu.toFixed(2)} s  ${middle === undefined ? '' : megabytes(middle)}` +
    (missing === 0 ? '' : `  ${missing} times a client missed it`)
  );
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;

function megabytes({ received }: Phase): string {
  const bytes = Object.values(received).reduce((sum, counts) => sum + counts.bytes, 0);
  return `${(bytes / 1e6).toFixed(1)} MB sent`;
}
