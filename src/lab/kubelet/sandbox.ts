import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { MeshError } from '../../lib/errors.ts';
import { nodeLinkBatch, podLinkBatch } from '../network/links.ts';
import { requireCommand, runCommand } from '../run-command.ts';
import type { Tools } from '../tools.ts';

/** The namespaces of one pod (network, process ids, host name), held by a process that does nothing but collect zombies. */
export interface Sandbox {
  /** Process id of the holder as the lab sees it. */
  readonly pid: number;
  readonly address: string;
  /** Resolves when the holder is gone, and every process of the pod with it. */
  readonly ended: Promise<void>;
  /** Kills every process of the pod and removes its link. */
  destroy(): Promise<void>;
}

export interface SandboxRequest {
  readonly hostname: string;
  readonly address: string;
  /** Name of the pod's link at the node, at most 15 characters. */
  readonly link: string;
}

/** Throws `internal` with what the kernel or `ip` complained about. */
export async function createSandbox(request: SandboxRequest, tools: Tools): Promise<Sandbox> {
  const child = spawn(
    tools.unshare,
    ['--net', '--uts', '--ipc', '--pid', '--fork', '--kill-child', tools.sh, '-c', holderScript(request, tools)],
    { stdio: ['pipe', 'ignore', 'pipe', 'pipe'] },
  );
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const said = linesOf(child);
  try {
    const pid = Number(await said.next());
    await requireCommand(tools.ip, ['-batch', '-'], { input: nodeLinkBatch(request.link, request.address, pid) });
    child.stdin?.end('go\n');
    await said.next();
    return { pid, address: request.address, ended, destroy: () => destroy(child, request.link, ended, tools) };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

async function destroy(child: ChildProcess, link: string, ended: Promise<void>, tools: Tools): Promise<void> {
  child.kill('SIGKILL');
  await ended;
  // The kernel removes the link in its own time; the address must be free now. It may be gone already.
  await runCommand(tools.ip, ['link', 'delete', link]);
}

/** Says its process id, waits for the node's end of the link, sets up the pod's end, says `ready`. */
function holderScript({ hostname, address }: SandboxRequest, tools: Tools): string {
  return `set -e
read -r pid rest </proc/self/stat
echo "$pid" >&3
read -r go
hostname ${hostname} 2>/dev/null || echo ${hostname} >/proc/sys/kernel/hostname
echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start
${tools.ip} -batch - <<'END'
${podLinkBatch(address)}END
echo ready >&3
exec 3>&- 2>/dev/null
${tools.sleep} infinity &
wait`;
}

/** What the holder says, line by line; its end is an error that quotes its complaints. */
function linesOf(child: ChildProcess): { next(): Promise<string> } {
  let complaints = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  child.on('error', (error) => {
    complaints += error.message;
  });
  child.stdin?.on('error', () => {});
  const report = child.stdio[3];
  const lines = createInterface({ input: report instanceof Readable ? report : Readable.from([]) })[Symbol.asyncIterator]();
  return {
    async next() {
      const { done, value } = await lines.next();
      if (done !== true) return value;
      throw new MeshError('internal', `the network of a pod could not be set up: ${complaints.trim() || 'its holder ended'}`);
    },
  };
}
