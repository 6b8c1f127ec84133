import { accessSync, constants } from 'node:fs';
import { MeshError } from '../lib/errors.ts';

/** Absolute paths of the system's programs that the lab is built on. */
export type Tools = { readonly [Name in ToolName]: string };

type ToolName = (typeof NAMES)[number];

const NAMES = [
  'cp',
  'env',
  'ip',
  'iptables-restore',
  'mkdir',
  'mount',
  'nsenter',
  'pivot_root',
  'setpriv',
  'sh',
  'sleep',
  'umount',
  'unshare',
] as const;

const PACKAGES: Readonly<Partial<Record<ToolName, string>>> = { ip: 'iproute2', 'iptables-restore': 'iptables' };
const SYSTEM_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Throws `failed_precondition` that lists everything missing and the command that installs it on Debian and Ubuntu. */
export function findTools(path: string | undefined): Tools {
  const found = NAMES.map((name) => [name, findProgram(name, path)] as const);
  const missing = found.filter(([, program]) => program === undefined).map(([name]) => name);
  if (missing.length > 0) {
    const packages = [...new Set(missing.map((name) => PACKAGES[name] ?? 'util-linux'))].sort();
    throw new MeshError(
      'failed_precondition',
      `the lab needs ${missing.join(', ')}, which this machine lacks; install with: apt-get install ${packages.join(' ')}`,
    );
  }
  return Object.fromEntries(found) as Tools;
}

/** A program by name on PATH (and where administrators' programs are), or by its path; undefined when it cannot be run. */
export function findProgram(name: string, path: string | undefined): string | undefined {
  if (name.includes('/')) return isExecutable(name) ? name : undefined;
  const directories = [...(path ?? '').split(':'), ...SYSTEM_PATH].filter((directory) => directory !== '');
  return directories.map((directory) => `${directory}/${name}`).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
