import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MeshError } from '../lib/errors.ts';

/** How this installation runs `mesh`: its Node, and the directory that has bin/mesh. */
export interface MeshInstallation {
  readonly node: string;
  readonly directory: string;
}

/** Finds the installation that a module belongs to, built into one file or not. Throws `failed_precondition`. */
export function meshInstallation(modulePath: string, node: string): MeshInstallation {
  for (let directory = dirname(modulePath); ; directory = dirname(directory)) {
    if (existsSync(join(directory, 'bin/mesh'))) return { node, directory };
    if (directory === dirname(directory)) {
      throw new MeshError(
        'failed_precondition',
        `bin/mesh is in no directory above ${modulePath}; the installation is incomplete`,
      );
    }
  }
}

/** What bin/mesh starts Node with: a small young generation costs little time and saves much memory. */
export const NODE_OPTIONS: readonly string[] = ['--max-semi-space-size=4'];

export function meshArgv({ node, directory }: MeshInstallation): readonly string[] {
  return [node, ...NODE_OPTIONS, join(directory, 'bin/mesh')];
}
