import { NODE_OPTIONS } from '../mesh-command.ts';
import type { BindMount } from './mount-plan.ts';
import type { MeshProgram } from './runtime.ts';

/**
 * Where `mesh`, its Node and Envoy lie in the memory file system of a lab (the launcher mounts them there), and where in a
 * container: in places that a user without rights to the installation's own directories can reach.
 */
export const MESH_MOUNTS = {
  package: { memory: 'mesh', container: '/usr/local/lib/mesh' },
  node: { memory: 'node', container: '/usr/local/bin/mesh-node' },
  envoy: { memory: 'envoy', container: '/usr/local/bin/proxy' },
  /** What manifests call by its name, as in an image of ours. */
  command: { memory: 'mesh-command', container: '/usr/local/bin/mesh' },
} as const;

/** `env` holds what `mesh` reads from its environment, such as the mesh domain. */
export function meshProgram(env: Readonly<Record<string, string>>): MeshProgram {
  const bind = (name: keyof typeof MESH_MOUNTS, type: BindMount['type']): BindMount => {
    const { memory, container } = MESH_MOUNTS[name];
    return { source: memory, target: container, type, readOnly: true };
  };
  return {
    argv: MESH_ARGV,
    binds: [bind('package', 'directory'), bind('node', 'file'), bind('envoy', 'file'), bind('command', 'file')],
    env,
  };
}

const MESH_ARGV = [MESH_MOUNTS.node.container, ...NODE_OPTIONS, `${MESH_MOUNTS.package.container}/bin/mesh`];

/** The text of the program `mesh` in a container. */
export const MESH_COMMAND = `#!/bin/sh\nexec ${MESH_ARGV.join(' ')} "$@"\n`;
