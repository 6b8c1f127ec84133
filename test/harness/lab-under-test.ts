/** A lab driven as a user drives it: by command lines. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Who runs `mesh`: this process's user and checkout unless said otherwise. */
export interface Runner {
  /** Words before the command, such as setpriv's. */
  readonly prefix: readonly string[];
  readonly mesh: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const OWN: Runner = { prefix: [], mesh: fileURLToPath(new URL('../../bin/mesh', import.meta.url)), env: process.env };

/** A client with a sidecar, one without, and a server with one. */
export const MANIFESTS = `
apiVersion: v1
kind: Namespace
metadata: {name: foo, labels: {mesh-injection: enabled}}
---
apiVersion: v1
kind: Namespace
metadata: {name: legacy}
---
apiVersion: v1
kind: Service
metadata: {name: httpbin, namespace: foo}
spec: {selector: {app: httpbin}, ports: [{name: http, port: 8000}]}
${['httpbin:foo', 'sleep:foo', 'sleep:legacy']
  .map((pair) => pair.split(':'))
  .map(
    ([name, namespace]) => `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  replicas: 1
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: ${name}, image: ${name}}]}
`,
  )
  .join('')}`;

/** Mutual TLS is required in foo. */
export const STRICT = `
apiVersion: authentication.mesh.io/v1alpha1
kind: Policy
metadata: {name: default, namespace: foo}
spec: {peers: [{mtls: {}}]}
`;

export class LabUnderTest {
  readonly dir: string;
  readonly #runner: Runner;

  private constructor(dir: string, runner: Runner) {
    this.dir = dir;
    this.#runner = runner;
  }

  /** In a new directory; nothing is started. */
  static async create(): Promise<LabUnderTest> {
    return new LabUnderTest(await mkdtemp(join(tmpdir(), 'mesh-lab-')), OWN);
  }

  /** Of another user, in a directory that `lab up` makes. */
  static of(runner: Runner, dir: string): LabUnderTest {
    return new LabUnderTest(dir, runner);
  }

  mesh(...args: readonly string[]): Promise<Result> {
    const [program = '', ...rest] = [...this.#runner.prefix, this.#runner.mesh, ...args];
    return new Promise((resolve) => {
      execFile(program, rest, { maxBuffer: 1 << 24, env: this.#runner.env }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      });
    });
  }

  /** `mesh lab COMMAND` on this lab. */
  run(command: string, ...args: readonly string[]): Promise<Result> {
    return this.mesh('lab', command, '--dir', this.dir, ...args);
  }

  /** `mesh meshctl COMMAND` on this lab's store. */
  meshctl(command: string, ...args: readonly string[]): Promise<Result> {
    return this.mesh('meshctl', command, '--orchconfig', join(this.dir, 'store'), ...args);
  }

  /** Writes a file into the lab's directory and gives its path. */
  async file(name: string, text: string): Promise<string> {
    const path = join(this.dir, name);
    await writeFile(path, text);
    return path;
  }

  /** What curl in a pod says of a URL: status, then exit code. */
  async call(client: string, url = 'http://httpbin.foo:8000/ip', ...options: readonly string[]): Promise<string> {
    const curl = ['curl', '-s', '-o', '/dev/null', '--max-time', '20', '-w', '%{http_code}', ...options, url];
    const { code, stdout } = await this.run('exec', client, '--', ...curl);
    return `${stdout} ${code}`;
  }

  /** Calls until the answer is the expected one; the test's own time-out ends it otherwise. */
  async eventually(expected: string, ...call: Parameters<LabUnderTest['call']>): Promise<void> {
    while ((await this.call(...call)) !== expected);
  }

  /** Processes of this machine whose command line names the lab's directory and all of the patterns. */
  async processes(...patterns: readonly string[]): Promise<readonly number[]> {
    const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const found = await Promise.all(
      ids.map(async (id) => {
        const line = (await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ');
        return [this.dir, ...patterns].every((pattern) => line.includes(pattern)) ? [Number(id)] : [];
      }),
    );
    return found.flat();
  }

  /** The process whose end ends the lab. */
  async initPid(): Promise<number> {
    return JSON.parse(await readFile(join(this.dir, 'run/lab.json'), 'utf8')).init.pid;
  }

  /** Takes the lab down and removes its directory. */
  async remove(): Promise<void> {
    await this.run('down');
    await rm(this.dir, { recursive: true, force: true });
  }
}
