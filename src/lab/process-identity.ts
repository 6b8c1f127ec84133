import { readFileSync } from 'node:fs';

/** A process, told apart from a later one that got the same id. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since the boot (field 22 of /proc/PID/stat). */
  readonly startTime: string;
  readonly bootId: string;
}

/** Undefined when there is no such process. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid);
  return stat === undefined ? undefined : { pid, startTime: stat.startTime, bootId: bootId() };
}

/** Whether that very process still runs; a zombie does not. */
export function isRunning(process: ProcessIdentity): boolean {
  const stat = readStat(process.pid);
  return stat !== undefined && stat.state !== 'Z' && stat.startTime === process.startTime && bootId() === process.bootId;
}

function readStat(pid: number): { readonly state: string; readonly startTime: string } | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field is the program's name in parentheses, and may itself contain any of them.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  const startTime = fields[19];
  return state === undefined || startTime === undefined ? undefined : { state, startTime };
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}
