import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { MeshError } from '../../lib/errors.ts';
import type { Lab } from '../client.ts';
import { backgroundScript } from './background-script.ts';
import type { CallRecord } from './call-record.ts';
import { CLIENT } from './topology.ts';

/** How long the clients may take to end once told to. */
const END_MS = 5_000;

/** The clients in a pod with a sidecar that call all the time while policies change. */
export class BackgroundCalls {
  readonly #child: ChildProcess;

  /** Starts them; every call goes into the record. */
  constructor(lab: Lab, token: string, record: CallRecord, now: () => Date) {
    this.#child = lab.start(`${CLIENT}.foo`, ['setsid', '--wait', 'sh', '-c', backgroundScript(token)]);
    this.#child.stdin?.on('error', () => {});
    const { stdout } = this.#child;
    if (stdout === null) throw new MeshError('internal', 'the background clients have no output');
    createInterface({ input: stdout }).on('line', (line) => record.take(line, now()));
  }

  /** Resolves when the clients have ended. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit', { signal: AbortSignal.timeout(END_MS) });
    this.#child.stdin?.end();
    await ended.catch(() => this.#child.kill('SIGKILL'));
  }
}
