/** Tells people what happens while it happens. */
import type { Host } from '../../io/host.ts';
import { outcomeLine, type Report } from './outcome.ts';

export interface ReportStyle {
  /** Whether only errors are told: programs get one document at the end. */
  readonly silent: boolean;
  /** Behind every line. */
  readonly suffix: string;
}

export function reportTo({ stdout, stderr }: Pick<Host, 'stdout' | 'stderr'>, { silent, suffix }: ReportStyle): Report {
  return {
    done(ref, outcome) {
      const line = outcomeLine(ref, outcome);
      if (line !== undefined && !silent) stdout.write(`${line}${suffix}\n`);
      if (outcome.type === 'conflict' || outcome.type === 'failed') stderr.write(`error: ${outcome.message}\n`);
    },
    progress(message) {
      if (!silent) stderr.write(`${message}\n`);
    },
  };
}
