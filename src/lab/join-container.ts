import type { ContainerContext } from './kubelet/container-launch.ts';
import type { Tools } from './tools.ts';

/** Arguments of nsenter that run a command in a container, from inside the lab; `pid` is the container's program. */
export function joinContainerArguments(
  pid: number,
  { workingDir, privileges }: ContainerContext,
  command: readonly string[],
  tools: Tools,
): readonly string[] {
  return [
    '-t',
    `${pid}`,
    '--net',
    '--uts',
    '--ipc',
    '--pid',
    '--mount',
    '--',
    tools.setpriv,
    ...privileges,
    '--',
    tools.env,
    `--chdir=${workingDir}`,
    '--',
    ...command,
  ];
}
