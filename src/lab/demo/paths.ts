import { dirname, join } from 'node:path';
import { labDirectory } from '../paths.ts';

/** `--dir`, else `mesh/demo` beside the user's own lab, which MESH_LAB_DIR may name and the demo leaves alone. Throws `usage`. */
export function demoDirectory(
  flag: string,
  { HOME, XDG_STATE_HOME }: Readonly<Record<string, string | undefined>>,
  cwd: string,
): string {
  return flag === '' ? join(dirname(labDirectory('', { HOME, XDG_STATE_HOME }, cwd)), 'demo') : labDirectory(flag, {}, cwd);
}
