/**
 * How the volumes of a container get their mount points without anything being created on the host: where a mount point
 * is missing, the nearest directory above it is covered by an overlay first, whose writes go to the lab's own memory.
 */

export interface BindMount {
  /** Absolute, or relative to the lab's memory file system. */
  readonly source: string;
  readonly target: string;
  readonly type: 'file' | 'directory';
  readonly readOnly: boolean;
}

export interface MountPlan {
  /** Directories that `/` lacks: the container gets a root of its own that has them. */
  readonly rootDirectories: readonly string[];
  /** Directories to cover, none inside another. */
  readonly overlays: readonly string[];
  /** Parents before children; targets free of symbolic links. */
  readonly binds: readonly BindMount[];
}

/** What there is on the host. */
export interface HostFiles {
  /** Free of symbolic links; undefined when the path, or what a link names, does not exist. */
  resolve(path: string): { readonly path: string; readonly type: 'file' | 'directory' } | undefined;
}

export function planMounts(mounts: readonly BindMount[], host: HostFiles): MountPlan {
  const rootDirectories = new Set<string>();
  const covered = new Set<string>();
  const binds = mounts.map((mount) => {
    const { existing, missing } = nearest(mount.target, host);
    const [first] = missing;
    if (first !== undefined) {
      if (existing === '/') rootDirectories.add(first);
      else covered.add(existing);
    }
    return { ...mount, target: [existing === '/' ? '' : existing, ...missing].join('/') || '/' };
  });
  const overlays = [...covered].filter((path) => ![...covered].some((other) => isInside(path, other))).sort();
  return {
    rootDirectories: [...rootDirectories].sort(),
    overlays,
    binds: binds.toSorted((a, b) => depth(a.target) - depth(b.target) || (a.target < b.target ? -1 : 1)),
  };
}

/** The deepest existing directory on the way to a path (the path itself if it exists), and the names still missing. */
function nearest(target: string, host: HostFiles): { readonly existing: string; readonly missing: readonly string[] } {
  const names = target.split('/').filter((name) => name !== '');
  for (let length = names.length; length > 0; length--) {
    const found = host.resolve(`/${names.slice(0, length).join('/')}`);
    if (found !== undefined && (length === names.length || found.type === 'directory')) {
      return { existing: found.path, missing: names.slice(length) };
    }
  }
  return { existing: '/', missing: names };
}

function isInside(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}

function depth(path: string): number {
  return path.split('/').length;
}
