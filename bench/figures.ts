/** Prints what was measured, in milliseconds: `name  count  min  p50  p99  max`. */
export function printFigures(name: string, values: readonly number[]): void {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (quantile: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(quantile * sorted.length))] ?? Number.NaN).toFixed(0);
  const columns = [`n ${sorted.length}`, `min ${at(0)}`, `p50 ${at(0.5)}`, `p99 ${at(0.99)}`, `max ${at(1)}`];
  process.stdout.write(`${name.padEnd(52)} ${columns.join('  ')}  ms\n`);
}

/** Prints what was measured, in words. */
export function printRow(name: string, figures: string): void {
  process.stdout.write(`${name.padEnd(52)} ${figures}\n`);
}
