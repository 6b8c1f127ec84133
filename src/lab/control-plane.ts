import { spawn } from 'node:child_process';
import { get } from 'node:http';
import { connect } from 'node:net';
import type { Logger } from '../io/log/logger.ts';
import { type Duration, milliseconds } from '../lib/duration.ts';
import { RestartBackoff } from './kubelet/backoff.ts';
import { LogFile } from './kubelet/log-file.ts';
import { exitCodeOf } from './run-command.ts';

/** One process of the control plane. */
export interface ComponentSpec {
  readonly name: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logPath: string;
  readonly isReady: () => Promise<boolean>;
}

export interface ComponentHealth {
  readonly name: string;
  readonly ready: boolean;
  readonly restarts: number;
  /** Why it is not ready, as far as the lab knows. */
  readonly message: string;
}

const FIRST_CHECK = milliseconds(50);
const CHECK = milliseconds(1_000);
const CHECK_TIMEOUT_MS = 1_000;

export interface SupervisorDeps {
  readonly now: () => Date;
  readonly random: () => number;
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
  readonly onChange: () => void;
}

/** Keeps one process of the control plane running, and knows whether it serves. */
export class ComponentSupervisor {
  readonly #spec: ComponentSpec;
  readonly #deps: SupervisorDeps;
  #ready = false;
  #restarts = 0;
  #message = 'starting';

  constructor(spec: ComponentSpec, deps: SupervisorDeps) {
    this.#spec = spec;
    this.#deps = deps;
  }

  get health(): ComponentHealth {
    return { name: this.#spec.name, ready: this.#ready, restarts: this.#restarts, message: this.#message };
  }

  /** Until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const backoff = new RestartBackoff();
    const { now, random, sleep, logger } = this.#deps;
    while (!signal.aborted) {
      const begun = now().getTime();
      const code = await this.#runOnce(signal);
      if (signal.aborted) return;
      const wait = backoff.after(milliseconds(now().getTime() - begun), random);
      this.#set(false, `ended with exit code ${code}; see ${this.#spec.logPath}`);
      logger.warn('a component of the control plane ended and will be started again', {
        component: this.#spec.name,
        code,
        waitMs: wait,
      });
      await sleep(wait, signal).catch(() => {});
      this.#restarts++;
    }
  }

  async #runOnce(signal: AbortSignal): Promise<number> {
    const { argv, env, logPath } = this.#spec;
    const [program = '', ...args] = argv;
    const log = new LogFile(logPath);
    const over = new AbortController();
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Uint8Array) => log.write(chunk));
    const stop = (): boolean => child.kill('SIGTERM');
    signal.addEventListener('abort', stop, { once: true });
    void this.#check(AbortSignal.any([signal, over.signal]));
    try {
      return await new Promise<number>((resolve) => {
        child.once('error', (error) => {
          log.write(`${error.message}\n`);
          resolve(127);
        });
        child.once('close', (code, name) => resolve(exitCodeOf(code, name)));
      });
    } finally {
      over.abort();
      signal.removeEventListener('abort', stop);
      log.close();
    }
  }

  async #check(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const ready = await this.#spec.isReady();
      if (signal.aborted) return;
      this.#set(ready, ready ? '' : 'not ready yet');
      await this.#deps.sleep(ready ? CHECK : FIRST_CHECK, signal).catch(() => {});
    }
  }

  #set(ready: boolean, message: string): void {
    if (this.#ready === ready && this.#message === message) return;
    this.#ready = ready;
    this.#message = message;
    this.#deps.onChange();
  }
}

/** Whether a GET of the path is answered with 200. */
export function answersHttp(host: string, port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host, port, path, agent: false, timeout: CHECK_TIMEOUT_MS }, (response) => {
      response.destroy();
      resolve(response.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}

/** Whether a TCP connection is taken. */
export function acceptsTcp(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CHECK_TIMEOUT_MS });
    const end = (accepted: boolean) => (): void => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false));
  });
}
