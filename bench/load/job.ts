import type { Target } from './connection.ts';

/** What a load process is to do. */
export interface Job {
  readonly target: Target;
  readonly connections: number;
  /** Messages in base64, taken in turns. */
  readonly messages: readonly string[];
  /** So many calls at once, each followed by the next; or so many a second, evenly, whatever becomes of them. */
  readonly load: { readonly atOnce: number } | { readonly perSecond: number };
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** Milliseconds. */
export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface Outcome {
  readonly answered: number;
  readonly wallMs: number;
  readonly latency: Quantiles;
  /** How late the calls of a steady load were sent: what the client itself adds to the latency. */
  readonly late: Quantiles;
}

/** What the load process tells the one that started it. */
export type Told =
  | { readonly type: 'measuring' }
  | { readonly type: 'done'; readonly outcome: Outcome }
  | { readonly type: 'failed'; readonly why: string };

export function quantiles(values: readonly number[]): Quantiles {
  const sorted = Float64Array.from(values).sort();
  const at = (quantile: number): number =>
    Number((sorted[Math.min(sorted.length - 1, Math.floor(quantile * sorted.length))] ?? 0).toFixed(2));
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
