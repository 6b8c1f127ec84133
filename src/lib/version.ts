import packageJson from '../../package.json' with { type: 'json' };

/** Set by the build (setup/bundle.ts); the sources themselves run without it. */
declare const MESH_BUILD: { readonly revision: string; readonly status: 'clean' | 'modified' } | undefined;

export interface BuildInfo {
  readonly version: string;
  /** The git revision that was built, or `unknown`. */
  readonly revision: string;
  /** Whether the sources were as in that revision. */
  readonly status: 'clean' | 'modified' | 'unknown';
}

export const buildInfo: BuildInfo = {
  version: packageJson.version,
  ...(typeof MESH_BUILD === 'undefined' ? { revision: 'unknown', status: 'unknown' } : MESH_BUILD),
};

/** One line: `0.1.0-1a2b3c4d5e6f-clean`. */
export function shortVersion(info: BuildInfo): string {
  return [info.version, info.revision.slice(0, 12), info.status].join('-');
}

/** One `Name: value` a line. */
export function longVersion(info: BuildInfo, nodeVersion: string): string {
  const lines = [
    ['Version', info.version],
    ['GitRevision', info.revision],
    ['BuildStatus', info.status],
    ['NodeVersion', nodeVersion],
  ];
  return lines.map(([name, value]) => `${name}: ${value}`).join('\n');
}
