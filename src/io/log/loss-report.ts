import type { Writable } from 'node:stream';
import type { LossReport } from './log-file.ts';

/** A disk at the brink takes some lines and refuses others: that is one outage, not thousands. */
const QUIET_MS = 60_000;

/** Tells standard error about a log that loses lines, once for each outage, and once that it is written again. */
export function lossReport(name: string, stderr: Writable, now: () => Date): LossReport {
  let toldAt = Number.NEGATIVE_INFINITY;
  let keptAt = Number.NEGATIVE_INFINITY;
  let told = false;
  let lines = 0;
  return {
    lost: (error) => {
      lines++;
      if (told || now().getTime() - toldAt < QUIET_MS) return;
      toldAt = now().getTime();
      told = true;
      stderr.write(`error: ${name} cannot be written, its lines are lost until it can: ${error.message}\n`);
    },
    written: () => {
      if (!told) return;
      stderr.write(`warning: ${name} is written again; lines lost: ${lines}\n`);
      told = false;
      lines = 0;
    },
    kept: (error) => {
      if (now().getTime() - keptAt < QUIET_MS) return;
      keptAt = now().getTime();
      stderr.write(`warning: old backups of ${name} cannot be removed: ${error.message}\n`);
    },
  };
}
