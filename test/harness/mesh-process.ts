/** Runs the executable from its sources, as a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';

export interface MeshProcessOptions {
  /** A file that standard output goes to, instead of being kept. */
  readonly stdoutFile?: string;
}

export class MeshProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #wake: () => void = () => {};
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], { stdoutFile }: MeshProcessOptions = {}) {
    const out = stdoutFile === undefined ? undefined : openSync(stdoutFile, 'a');
    this.#child = spawn(process.execPath, [resolve('src/mesh.ts'), ...args], { stdio: ['ignore', out ?? 'pipe', 'pipe'] });
    if (out !== undefined) closeSync(out);
    this.#ended = once(this.#child, 'close');
    this.#child.stdout?.on('data', (chunk) => {
      this.stdout += String(chunk);
      this.#wake();
    });
    this.#child.stderr?.on('data', (chunk) => {
      this.stderr += String(chunk);
      this.#wake();
    });
    this.#child.on('close', () => this.#wake());
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when the condition, looked at after each output, holds. @throws Error when the process ends before */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (!this.running) throw new Error(`the process ended: ${this.stderr}`);
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
    }
  }

  /** The exit code; after SIGTERM if `stop` was called. */
  async exit(): Promise<number | null> {
    await this.#ended;
    return this.#child.exitCode;
  }

  stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return this.exit();
  }
}

/** Runs a command to its end. */
export async function runMesh(
  args: readonly string[],
  options: MeshProcessOptions = {},
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = new MeshProcess(args, options);
  const code = await child.exit();
  return { code, stdout: child.stdout, stderr: child.stderr };
}
