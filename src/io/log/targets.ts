import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Writable } from 'node:stream';
import { MeshError } from '../../lib/errors.ts';
import type { Host } from '../host.ts';
import { LogFile, type LossReport } from './log-file.ts';
import { lossReport } from './loss-report.ts';
import { pipeStream } from './pipe-stream.ts';

export interface TargetOptions {
  readonly log_target: readonly string[];
  readonly log_rotate: string;
  /** Days. */
  readonly log_rotate_max_age: number;
  readonly log_rotate_max_backups: number;
  /** Megabytes. */
  readonly log_rotate_max_size: number;
}

export interface Targets {
  readonly streams: readonly Writable[];
  /** Those of the streams that are ours to close. */
  readonly files: readonly Writable[];
}

const MEGABYTE = 1024 * 1024;

/** @throws MeshError `failed_precondition` that names the flag and the file it cannot open */
export async function openTargets(options: TargetOptions, host: Pick<Host, 'stdout' | 'stderr' | 'now'>): Promise<Targets> {
  const standard: Readonly<Record<string, Writable>> = { stdout: host.stdout, stderr: host.stderr };
  const names = [...new Set(options.log_target)];
  const paths = names.filter((name) => !Object.hasOwn(standard, name));
  refuseSharing(options.log_rotate, paths);
  const report = (flag: string, path: string): LossReport => lossReport(`--${flag} "${path}"`, host.stderr, host.now);
  const files: Writable[] = [];
  try {
    for (const path of paths) files.push(openFile(path, report('log_target', path)));
    if (options.log_rotate !== '') files.push(await openRotating(options, host.now, report('log_rotate', options.log_rotate)));
  } catch (thrown) {
    for (const file of files) file.destroy();
    throw thrown;
  }
  const chosen = names.flatMap((name) => {
    const stream = Object.hasOwn(standard, name) ? standard[name] : undefined;
    if (stream === undefined) return [];
    return [pipeStream(stream, report('log_target', name))];
  });
  return { streams: [...chosen, ...files], files };
}

/** The rotated file is a link that moves on: appending to it by name would be lost with the first backup that is removed. */
function refuseSharing(rotated: string, paths: readonly string[]): void {
  const shared = paths.find((path) => rotated !== '' && resolve(path) === resolve(rotated));
  if (shared !== undefined)
    throw new MeshError('usage', `--log_rotate: "${shared}" is a --log_target too; give it to one of them`);
}

function openFile(path: string, report: LossReport): Writable {
  const file = new LogFile(path, report);
  try {
    requireDirectory(path);
    file.open();
  } catch (error) {
    throw cannotWrite('log_target', path, error);
  }
  return new Writable({
    write: (line: Buffer, _encoding, done) => {
      file.write(line);
      done();
    },
    destroy: (error, done) => {
      file.close();
      done(error);
    },
  });
}

async function openRotating(options: TargetOptions, now: () => Date, report: LossReport): Promise<Writable> {
  const limits = {
    maxBytes: options.log_rotate_max_size * MEGABYTE,
    maxAgeDays: options.log_rotate_max_age,
    maxBackups: options.log_rotate_max_backups,
  };
  const { openRotatingFile } = await import('./rotating-file.ts');
  try {
    requireDirectory(options.log_rotate);
    accessSync(dirname(resolve(options.log_rotate)), constants.W_OK | constants.X_OK);
    return await openRotatingFile(options.log_rotate, limits, now, report);
  } catch (error) {
    throw cannotWrite('log_rotate', options.log_rotate, error);
  }
}

/** @throws Error that names the directory, where the system's would name the file only */
function requireDirectory(path: string): void {
  if (path === '') throw new Error('it has no name');
  const directory = dirname(resolve(path));
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new Error(`there is no directory ${directory}`);
}

function cannotWrite(flag: string, path: string, error: unknown): MeshError {
  return new MeshError('failed_precondition', `--${flag}: "${path}" cannot be written: ${MeshError.from(error).message}`, error);
}
