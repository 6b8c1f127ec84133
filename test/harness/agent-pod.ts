/**
 * A pod in a network namespace of its own with the whole chain in it: pilot-discovery on a directory of manifests, pilot-agent with a
 * real Envoy, applications on a few addresses, and the redirection of one user's connections, as mesh-init does it for a pod.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { envoyPath } from '../../src/lib/envoy-path.ts';
import { componentArguments } from './component-process.ts';
import { TestRoot } from './test-authority.ts';

const exec = promisify(execFile);

/** The pod's own address. */
export const OWN = '10.1.1.1';
/** Of pilot-discovery, REST and gRPC alike. */
const DISCOVERY_PORT = 8080;
/** Only this user's connections are redirected; the proxy's own are not. */
const CLIENT_UID = '65534';
const WORKLOAD = 'spiffe://cluster.local/ns/foo/sa/default';
const DISCOVERY = 'spiffe://cluster.local/ns/mesh-system/sa/mesh-pilot-service-account';

/** Answers every request with the address it was sent to. */
const APPLICATION = `for (const host of JSON.parse(process.argv[1])) require('http')
  .createServer((request, response) => response.end(request.socket.localAddress)).listen(8000, host);`;

export class AgentPod {
  readonly #folder = mkdtempSync(join(tmpdir(), 'mesh-agent-pod-'));
  readonly manifests = join(this.#folder, 'manifests');
  readonly #namespace = `mesh-agent-${process.pid}`;
  readonly #processes: ChildProcess[] = [];
  output = '';

  /** Everything but the agent; `others` are the addresses of other pods, whose applications run here too. */
  async start(meshConfig: object, others: readonly string[]): Promise<void> {
    await exec('ip', ['netns', 'add', this.#namespace]);
    await exec('ip', ['-n', this.#namespace, 'link', 'set', 'lo', 'up']);
    await exec('ip', ['-n', this.#namespace, 'route', 'add', 'default', 'dev', 'lo']);
    for (const address of [OWN, ...others])
      await exec('ip', ['-n', this.#namespace, 'addr', 'add', `${address}/32`, 'dev', 'lo']);
    await this.#redirect('10.96.0.0/16', 15_001);
    await this.#redirect(`${OWN}/32`, 15_006);
    const root = await TestRoot.create();
    await this.#certificates('workload', root, WORKLOAD);
    await this.#certificates('discovery', root, DISCOVERY);
    const meshFile = join(this.#folder, 'mesh.json');
    writeFileSync(meshFile, JSON.stringify(meshConfig));
    this.#run(process.execPath, ['-e', APPLICATION, JSON.stringify([OWN, ...others])]);
    const options = {
      orchconfig: this.manifests,
      meshConfig: meshFile,
      port: DISCOVERY_PORT,
      tlsCertFile: this.#certificate('discovery', 'cert-chain.pem'),
      tlsKeyFile: this.#certificate('discovery', 'key.pem'),
      caCertFile: this.#certificate('discovery', 'root-cert.pem'),
    };
    this.#run(process.execPath, componentArguments('pilot-discovery', 'run', 'discoveryFlags', options));
  }

  /** Runs a script of Node in the pod; what it prints is in `output`. */
  runScript(script: string): void {
    this.#run(process.execPath, ['-e', script]);
  }

  startAgent(options: Readonly<Record<string, unknown>>): void {
    const all = {
      binaryPath: envoyPath(process.env),
      configPath: join(this.#folder, 'proxy'),
      certificatesPath: join(this.#folder, 'workload'),
      discoveryAddress: `127.0.0.1:${DISCOVERY_PORT}`,
      id: 'httpbin-1.foo',
      ip: OWN,
      concurrency: 1,
      ...options,
    };
    this.#run(process.execPath, componentArguments('pilot-agent', 'runProxy', 'proxyFlags', all));
  }

  async stop(): Promise<void> {
    for (const child of this.#processes) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await exec('ip', ['netns', 'delete', this.#namespace]).catch(() => {});
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A request of the pod's application, which the redirection hands to the proxy; status 0: there was no answer. */
  async curl(url: string): Promise<{ readonly status: number; readonly body: string }> {
    const stdout = await this.#curl(['setpriv', `--reuid=${CLIENT_UID}`, '--clear-groups'], ['-w', '\n%{http_code}', url]);
    const [status = '0', ...body] = stdout.split('\n').toReversed();
    return { status: Number(status), body: body.toReversed().join('\n') };
  }

  /** A page of somebody in the pod. */
  page(port: number, path: string): Promise<string> {
    return this.#curl([], [`http://127.0.0.1:${port}${path}`]);
  }

  async #curl(as: readonly string[], args: readonly string[]): Promise<string> {
    const all = ['netns', 'exec', this.#namespace, ...as, 'curl', '-s', '-m', '5', ...args];
    const { stdout } = await exec('ip', all).catch((failed: { readonly stdout: string }) => failed);
    return stdout;
  }

  async #redirect(destination: string, port: number): Promise<void> {
    const who = ['-p', 'tcp', '-d', destination, '-m', 'owner', '--uid-owner', CLIENT_UID];
    const rule = ['-t', 'nat', '-A', 'OUTPUT', ...who, '-j', 'REDIRECT', '--to-ports', String(port)];
    await exec('ip', ['netns', 'exec', this.#namespace, 'iptables', '-w', ...rule]);
  }

  #run(command: string, args: readonly string[]): void {
    const child = spawn('ip', ['netns', 'exec', this.#namespace, command, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (this.output += chunk));
    this.#processes.push(child);
  }

  async #certificates(owner: string, root: TestRoot, name: string): Promise<void> {
    const { keyPem, chainPem } = await root.identity({ type: 'uri', value: name });
    mkdirSync(join(this.#folder, owner));
    writeFileSync(this.#certificate(owner, 'root-cert.pem'), root.pem);
    writeFileSync(this.#certificate(owner, 'cert-chain.pem'), chainPem);
    writeFileSync(this.#certificate(owner, 'key.pem'), keyPem, { mode: 0o600 });
  }

  #certificate(owner: string, file: string): string {
    return join(this.#folder, owner, file);
  }
}
