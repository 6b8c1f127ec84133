/** The way into the pods of a lab: its own command, as people type it. */
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Host } from '../../io/host.ts';
import { meshArgv, meshInstallation } from '../../io/mesh-command.ts';
import type { ExecProgram } from './run-program.ts';

/** The lab whose store a path is; undefined for a directory that is none, and a lab that does not run. */
export function labOf(orchconfig: string, { cwd }: Pick<Host, 'cwd'>): string | undefined {
  const store = resolve(cwd, orchconfig.replace(/^fs:\/\//, ''));
  const directory = dirname(store);
  return basename(store) === 'store' && existsSync(join(directory, 'run/lab.json')) ? directory : undefined;
}

/** `mesh lab exec` into a container of a pod. */
export function labExec(
  directory: string,
  pod: { readonly name: string; readonly namespace: string },
  container: string,
  { env }: Pick<Host, 'env'>,
): ExecProgram {
  const [program = '', ...args] = meshArgv(meshInstallation(fileURLToPath(import.meta.url), process.execPath));
  const target = `${pod.name}.${pod.namespace}`;
  const words = ['lab', 'exec', '--dir', directory, '--container', container, target, '--'];
  return { title: `mesh lab exec ${target}`, program, args: [...args, ...words], env };
}
