import type { BindMount, MountPlan } from './mount-plan.ts';

/** Absolute paths of the programs a container is set up with: its own PATH may be anything. */
export interface SetupTools {
  readonly mount: string;
  readonly umount: string;
  readonly mkdir: string;
  readonly cp: string;
  readonly pivotRoot: string;
}

export interface ContainerScript {
  /** The lab's memory file system, where relative bind sources are. */
  readonly memory: string;
  /** A directory of this container alone below `memory`, for the overlays' writes; relative. */
  readonly scratch: string;
  readonly plan: MountPlan;
  readonly workingDir: string;
  /** Name or path of the program. */
  readonly program: string;
  /** The program, its arguments, and what drops its privileges. */
  readonly argv: readonly string[];
}

/** Exit code of the script when the container has no such program; a shell's own. */
export const NO_PROGRAM_EXIT = 127;

/**
 * A POSIX shell script that turns a fresh mount namespace into the container's and becomes its program. It tells on file
 * descriptor 3 its process id as the lab sees it, then `run` once nothing but the program's own start can fail.
 *
 * It stays in `memory` while it mounts and names sources relatively: a mount may hide the path they lie at.
 */
export function containerScript(
  { memory, scratch, plan, workingDir, program, argv }: ContainerScript,
  tools: SetupTools,
): string {
  const absolute = plan.binds.filter(({ source }) => source.startsWith('/'));
  const staged = new Map(absolute.map((bind, index) => [bind, `${scratch}/host${index}`]));
  return [
    'set -e',
    // /proc is still the lab's own.
    'read -r pid rest </proc/self/stat',
    'echo "$pid" >&3',
    `cd ${quote(memory)}`,
    ...mirrorFunction(tools),
    ...absolute.flatMap((bind) => bindLines(tools, bind.source, staged.get(bind) ?? '', bind.type)),
    ...rootLines(plan.rootDirectories, scratch, tools),
    ...plan.overlays.flatMap((path, index) => overlayLines(path, `${scratch}/overlay${index}`, tools)),
    ...plan.binds.flatMap((bind) => [
      ...bindLines(tools, staged.get(bind) ?? bind.source, bind.target, bind.type),
      ...(bind.readOnly ? [`${tools.mount} -c -o remount,bind,ro ${quote(bind.target)}`] : []),
    ]),
    `${tools.mount} -c -t proc proc /proc`,
    ...(plan.rootDirectories.length > 0 ? [`${tools.umount} -c -l /.old`] : []),
    `cd ${quote(workingDir)}`,
    `command -v ${quote(program)} >/dev/null || {`,
    `  echo ${quote(`its program ${program} is not on this machine`)} >&2`,
    `  exit ${NO_PROGRAM_EXIT}`,
    '}',
    'echo run >&3',
    'exec 3>&-',
    `exec ${argv.map(quote).join(' ')}`,
  ].join('\n');
}

function bindLines(tools: SetupTools, source: string, target: string, type: BindMount['type']): string[] {
  const name = quote(target);
  const parent = quote(target.slice(0, target.lastIndexOf('/')) || '/');
  // An existing mount point is left as it is: it may lie on a read-only volume.
  const point =
    type === 'directory'
      ? `[ -d ${name} ] || ${tools.mkdir} -p ${name}`
      : `[ -f ${name} ] || { [ -d ${parent} ] || ${tools.mkdir} -p ${parent}; : >${name}; }`;
  return [point, `${tools.mount} -c --rbind ${quote(source)} ${name}`];
}

/** A shell function that makes the second directory show all that is in the first, with room for more beside it. */
function mirrorFunction(tools: SetupTools): string[] {
  return [
    'mirror() {',
    `  ${tools.mkdir} -p "$2"`,
    '  for entry in "$1"/* "$1"/.[!.]*; do',
    `    if [ -L "$entry" ]; then ${tools.cp} -P "$entry" "$2/\${entry##*/}"`,
    `    elif [ -d "$entry" ]; then ${tools.mkdir} "$2/\${entry##*/}"; ${tools.mount} -c --rbind "$entry" "$2/\${entry##*/}"`,
    `    elif [ -e "$entry" ]; then : >"$2/\${entry##*/}"; ${tools.mount} -c --bind "$entry" "$2/\${entry##*/}"; fi`,
    '  done',
    '}',
  ];
}

/** In a user namespace the kernel makes no overlay of a directory that has mounts below it, such as most machines' /run. */
function overlayLines(path: string, scratch: string, tools: SetupTools): string[] {
  const options = `lowerdir=${escapeOption(path)},upperdir=${escapeOption(`${scratch}/upper`)},workdir=${escapeOption(`${scratch}/work`)}`;
  const mirrored = quote(`${scratch}/mirror`);
  return [
    `${tools.mkdir} -p ${quote(`${scratch}/upper`)} ${quote(`${scratch}/work`)}`,
    `${tools.mount} -c -t overlay -o ${quote(options)} overlay ${quote(path)} 2>/dev/null ||`,
    `  { mirror ${quote(path)} ${mirrored}; ${tools.mount} -c --rbind ${mirrored} ${quote(path)}; }`,
  ];
}

/** A root that has all of the host's directories, and the missing ones beside them. */
function rootLines(directories: readonly string[], scratch: string, tools: SetupTools): string[] {
  if (directories.length === 0) return [];
  const root = quote(`${scratch}/root`);
  return [
    `${tools.mkdir} -p ${root}`,
    `${tools.mount} -c --bind ${root} ${root}`,
    `mirror '' ${root}`,
    `${tools.mkdir} ${root}/.old ${directories.map((name) => quote(`${scratch}/root/${name}`)).join(' ')}`,
    `${tools.pivotRoot} ${root} ${root}/.old`,
  ];
}

/** Overlay's option parser takes `:` and `,` as separators. */
function escapeOption(path: string): string {
  return path.replace(/[\\:,]/g, (character) => `\\${character}`);
}

export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
