import { readFileSync } from 'node:fs';

/** Of /proc/<pid>/stat, on every Linux that there is. */
const TICKS_PER_SECOND = 100;

/** What the kernel tells of a process. */
export interface ProcessTimes {
  /** Seconds of all threads. */
  readonly cpu: number;
  /** Seconds that the main thread was ready to run and had no core: what other processes cost it. */
  readonly waited: number;
}

export function processTimes(pid: number): ProcessTimes {
  // After the name in parentheses: state is field 3, user and system time are fields 14 and 15.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  const [, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return { cpu: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND, waited: Number(waited) / 1e9 };
}
