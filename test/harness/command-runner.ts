/** Runs commands as they are typed, in this process, with their output kept. */
import { PassThrough, Readable } from 'node:stream';
import type { MeshCommand } from '../../src/flags/command.ts';
import { namesFor } from '../../src/lib/names.ts';

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export type CommandRunner = (name: string, ...argv: readonly string[]) => Promise<CommandResult>;

/** Commands by their names; relative paths are below `cwd`. */
export function commandRunner(
  commands: Readonly<Record<string, MeshCommand>>,
  cwd: string,
  env: Readonly<Record<string, string | undefined>> = {},
  now: () => Date = () => new Date(),
): CommandRunner {
  return async (name, ...argv) => {
    const command = commands[name];
    if (command === undefined) throw new Error(`no command ${name}`);
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const stdin = Readable.from(['']);
    const signal = new AbortController().signal;
    const host = { env, stdin, stdout, stderr, cwd, signal, names: namesFor('mesh.io'), now };
    const outcome = await command.execute(argv, 'meshctl', host);
    const text = (stream: PassThrough): string => (stream.read() as Buffer | null)?.toString() ?? '';
    return { code: outcome.kind === 'exit' ? outcome.code : -1, out: text(stdout), err: text(stderr) };
  };
}
