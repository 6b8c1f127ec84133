import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** Files of a volume by their path in it. */
export type VolumeFiles = ReadonlyMap<string, Uint8Array>;

/** Who may read the files of a volume. */
export interface FileAccess {
  readonly mode: number;
  /** Owns the files, and may read them whatever their mode says (the pod's fsGroup). */
  readonly group: number | undefined;
}

const DATA = '..data';
const GROUP_READS = 0o040;

/**
 * Writes the files of a projected volume as the kubelet does: into a directory of their own, which the link `..data` is
 * then switched to, so that a reader sees all the old files or all the new ones.
 */
export function writeProjectedVolume(directory: string, files: VolumeFiles, { mode, group }: FileAccess, version: string): void {
  const target = `..${version}`;
  mkdirSync(join(directory, target), { recursive: true, mode: 0o755 });
  for (const [path, content] of files) {
    const file = join(directory, target, path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
    writeFileSync(file, content, { mode });
    if (group === undefined) continue;
    chmodSync(file, mode | GROUP_READS);
    chownSync(file, 0, group);
  }
  const previous = currentData(directory);
  symlinkSync(target, join(directory, `${DATA}_tmp`));
  renameSync(join(directory, `${DATA}_tmp`), join(directory, DATA));
  linkNames(directory, new Set([...files.keys()].map((path) => path.split('/')[0] ?? path)));
  if (previous !== undefined && previous !== target) rmSync(join(directory, previous), { recursive: true, force: true });
}

function currentData(directory: string): string | undefined {
  try {
    return readlinkSync(join(directory, DATA));
  } catch {
    return undefined;
  }
}

/** One link a top-level name, all through `..data`. */
function linkNames(directory: string, names: ReadonlySet<string>): void {
  const present = new Set(readdirSync(directory).filter((name) => !name.startsWith('..')));
  for (const name of present) if (!names.has(name)) unlinkSync(join(directory, name));
  for (const name of names) if (!present.has(name)) symlinkSync(join(DATA, name), join(directory, name));
}
