/** Real back ends of mixs: processes of a test's own on loopback, which it ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Backend, type BackendProgram, findBackend } from '../../setup/backends/programs.ts';

const START_LIMIT_MS = 120_000;

/** For a `before` hook: the program, or a skipped suite where the set-up could not get it and has said so. In CI nothing is skipped. */
export function requireBackend(backend: Backend, context: Mocha.Context): BackendProgram {
  const program = findBackend(backend, process.env);
  if (program === undefined) {
    if ((process.env['CI'] ?? '') !== '') throw new Error(`${backend} is missing; run npm run setup`);
    context.skip();
  }
  context.timeout(START_LIMIT_MS);
  return program;
}

/** A server that can be ended and started again on its port. */
export class BackendProcess {
  readonly port: number;
  readonly directory: string;
  readonly #program: BackendProgram;
  readonly #args: (directory: string) => readonly string[];
  #child: ChildProcess | undefined;

  constructor(program: BackendProgram, port: number, args: (directory: string) => readonly string[]) {
    this.port = port;
    this.directory = mkdtempSync(join(tmpdir(), 'mesh-backend-'));
    this.#program = program;
    this.#args = args;
  }

  /** Resolves when something answers on the port. */
  async start(): Promise<void> {
    const { path, env } = this.#program;
    // The kernel ends it with the test, however that ends.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', path, ...this.#args(this.directory)], {
      cwd: this.directory,
      env: { ...process.env, ...env },
      stdio: 'ignore',
    });
    this.#child = child;
    while (!(await accepts(this.port))) {
      if (child.exitCode !== null) throw new Error(`${path} ended with ${child.exitCode}`);
      await sleep(20);
    }
  }

  /** Stops answering without closing a connection, as a machine does that is cut off. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** A Redis that keeps nothing on disk. */
export function redisOn(program: BackendProgram, port: number): BackendProcess {
  return new BackendProcess(program, port, () => [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
  ]);
}
