/** Runs a meshctl command line in this process. */
import { PassThrough, Readable } from 'node:stream';
import type { MeshCommand } from '../../src/flags/command.ts';
import { namesFor } from '../../src/lib/names.ts';

export interface MeshctlResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface MeshctlOptions {
  readonly domain?: string;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** What a command prints and its exit code; errors that it throws are printed as the executable does. */
export async function runMeshctl(
  command: MeshCommand,
  argv: readonly string[],
  { domain = 'mesh.io', stdin = '', env = {}, cwd = process.cwd() }: MeshctlOptions = {},
): Promise<MeshctlResult> {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const outcome = await command.execute(argv, 'meshctl', {
    env,
    stdin: Readable.from(stdin === '' ? [] : [stdin]),
    stdout,
    stderr,
    cwd,
    signal: new AbortController().signal,
    names: namesFor(domain),
    now: () => new Date(),
  });
  const text = (stream: PassThrough): string => String(stream.read() ?? '');
  return { code: outcome.kind === 'exit' ? outcome.code : 0, out: text(stdout), err: text(stderr) };
}
