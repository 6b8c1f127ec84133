/** What the components take when nothing happens: those of a lab with the pods of the reference scenario, some time after they are ready. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { printRow } from './figures.ts';
import { residentMiB } from './resident.ts';

/** Start-up garbage is collected by then. */
const SETTLE_MS = 12_000;
/** What starts a component in a pod has the component's command line within its own. */
const NODE = /^\S*node\S* /;
const COMPONENTS = ['pilot-discovery discovery', 'mesh_ca', 'pilot-agent proxy', 'lab daemon'];

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Prints the resident memory of every component below the lab whose directory is given. */
export async function printIdleMemory(dir: string): Promise<void> {
  await delay(SETTLE_MS);
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)));
  const daemon = processes.find(({ command }) => command.includes(`lab daemon --dir ${dir}`));
  const own = processes.filter((process) => daemon !== undefined && isBelow(process, daemon.pid, processes));
  for (const component of COMPONENTS) {
    const sizes = own
      .filter(({ command }) => NODE.test(command) && command.includes(` ${component}`))
      .map(({ pid }) => residentMiB(pid));
    if (sizes.length === 0) continue;
    const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
    printRow(`idle memory: ${component}`, `n ${sizes.length}  ${least.toFixed(0)} to ${most.toFixed(0)} MiB`);
  }
}

function readProcess(pid: number): readonly Process[] {
  try {
    const parent = Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
    return [{ pid, parent, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') }];
  } catch {
    // It has ended.
    return [];
  }
}

function isBelow(process: Process, ancestor: number, processes: readonly Process[]): boolean {
  let at: Process | undefined = process;
  while (at !== undefined && at.pid !== ancestor) {
    const { parent }: Process = at;
    at = processes.find(({ pid }) => pid === parent);
  }
  return at !== undefined;
}
