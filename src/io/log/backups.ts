/** How the files of one rotated log are named, and which of its backups may stay. Pure. */
import { basename, dirname, extname } from 'node:path';

export interface RotationLimits {
  /** Bytes beyond which the file is rotated; 0 means no limit. */
  readonly maxBytes: number;
  /** Days after which the file is rotated and a backup removed; 0 means no limit. */
  readonly maxAgeDays: number;
  /** Backups kept; 0 means no limit. */
  readonly maxBackups: number;
}

export const DAY_MS = 86_400_000;

/**
 * The files of the log `mesh.log` are `mesh-<time>.log`, and after each rotation by size `mesh-<time>.<n>.log`; one that a later
 * process went on with may continue as `mesh-<time>.<n>.<m>.log`.
 */
export interface LogFiles {
  readonly directory: string;
  /** The file name without the extension. */
  readonly stem: string;
  readonly extension: string;
}

export function logFilesOf(path: string): LogFiles {
  const extension = extname(path);
  return { directory: dirname(path), stem: basename(path, extension), extension };
}

/** `mesh-2026-01-02T03-04-05.678Z`: the name of a file that begins now, without its extension. */
export function newBaseName({ stem }: LogFiles, now: Date): string {
  return `${stem}-${now.toISOString().replaceAll(':', '-')}`;
}

const SUFFIX = /^-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z)((?:\.\d+)*)$/;

/** What orders the files of a log in time; undefined for a file that is none of them. */
function orderOf({ stem, extension }: LogFiles, name: string): readonly [time: string, ...numbers: number[]] | undefined {
  if (!name.startsWith(stem) || !name.endsWith(extension)) return undefined;
  const match = SUFFIX.exec(name.slice(stem.length, name.length - extension.length));
  if (match === null) return undefined;
  return [match[1] ?? '', ...(match[2] ?? '').split('.').slice(1).map(Number)];
}

export function isLogFile(files: LogFiles, name: string): boolean {
  return orderOf(files, name) !== undefined;
}

export interface Backup {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/** The backups that are too many or too old; `found` may hold any file of the directory but the one in use. */
export function surplusBackups(files: LogFiles, found: readonly Backup[], limits: RotationLimits, now: Date): readonly Backup[] {
  const oldest = now.getTime() - limits.maxAgeDays * DAY_MS;
  return found
    .flatMap((backup) => {
      const order = orderOf(files, backup.name);
      return order === undefined ? [] : [{ backup, order }];
    })
    .sort((a, b) => compareOrders(b.order, a.order))
    .filter(({ backup }, index) => {
      const surplus = limits.maxBackups > 0 && index >= limits.maxBackups;
      return surplus || (limits.maxAgeDays > 0 && backup.modifiedAt < oldest);
    })
    .map(({ backup }) => backup);
}

type Order = readonly (string | number)[];

function compareOrders(a: Order, b: Order): number {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const left = a[index] ?? -1;
    const right = b[index] ?? -1;
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}
