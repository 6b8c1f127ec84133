import { execFile } from 'node:child_process';
import { type Duration, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';

/** A command line that runs a command in a container: what stands before the command. */
export interface ExecProgram {
  /** As a person would type it, for messages: `kubectl exec`. */
  readonly title: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

const DEADLINE: Duration = seconds(30);
/** A dump of the configuration of a large mesh has tens of megabytes. */
const MAX_OUTPUT_BYTES = 256 << 20;
const MAX_SHOWN = 500;

/** What the command prints. Rejects with MeshError `unavailable` when it fails, with what it said, `deadline_exceeded` and `cancelled`. */
export function runProgram(
  { title, program, args, env }: ExecProgram,
  command: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env, signal, timeout: DEADLINE, maxBuffer: MAX_OUTPUT_BYTES };
    execFile(program, [...args, ...command], options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      if (signal.aborted) return reject(new MeshError('cancelled', `cancelled: ${title}`, error));
      if (error.killed === true)
        return reject(new MeshError('deadline_exceeded', `${title} did not end in ${DEADLINE / 1000} s`, error));
      const said = stderr.trim() || error.message;
      reject(new MeshError('unavailable', `${title} failed: ${said.replace(/^error: /, '').slice(0, MAX_SHOWN)}`, error));
    });
  });
}
