/** Real back ends of mixs: processes of a test's own on loopback, which it ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Backend, type BackendProgram, findBackend } from '../../setup/backends/programs.ts';
import { BackEndProgram } from './back-end-program.ts';

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
  readonly #env: BackendProgram['env'];
  readonly #program: BackEndProgram;

  constructor(program: BackendProgram, port: number, args: (directory: string) => readonly string[]) {
    this.port = port;
    this.directory = mkdtempSync(join(tmpdir(), 'mesh-backend-'));
    this.#env = program.env;
    this.#program = new BackEndProgram([program.path, ...args(this.directory)]);
  }

  /** Resolves when something answers on the port. */
  async start(): Promise<void> {
    const env = { ...process.env, ...this.#env };
    await this.#program.start({ cwd: this.directory, env, stdio: 'ignore' }, () => accepts(this.port));
  }

  /** Stops answering without closing a connection, as a machine does that is cut off. */
  freeze(): void {
    this.#program.signal('SIGSTOP');
  }

  thaw(): void {
    this.#program.signal('SIGCONT');
  }

  kill(): Promise<void> {
    return this.#program.kill();
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
