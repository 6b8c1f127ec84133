import type { Logger } from '../../io/log/logger.ts';
import type { Duration } from '../../lib/duration.ts';
import type { LabPaths } from '../paths.ts';
import type { Tools } from '../tools.ts';
import type { ImageRules } from './image.ts';
import type { BindMount, HostFiles } from './mount-plan.ts';
import type { TokenSubject } from './token.ts';

/** What the node gives to its pods. */
export interface NodeRuntime {
  readonly tools: Tools;
  readonly paths: LabPaths;
  /** The lab runs in a user namespace, where only user 0 exists. */
  readonly rootless: boolean;
  /** `cluster.local` */
  readonly domain: string;
  readonly hostFiles: HostFiles;
  readonly images: () => ImageRules;
  readonly mesh: MeshProgram;
  /** What every container gets unless its manifest says otherwise. */
  readonly baseEnvironment: Readonly<Record<string, string>>;
  /** The keys of a ConfigMap or Secret; undefined when there is none. */
  readonly keys: (namespace: string, source: 'configMap' | 'secret', name: string) => ReadonlyMap<string, Uint8Array> | undefined;
  readonly token: (
    subject: Omit<TokenSubject, 'serviceAccount'>,
    account: string,
    audience: string,
    lifetime: Duration,
  ) => Promise<string>;
  readonly logger: Logger;
  readonly now: () => Date;
  readonly random: () => number;
  /** Rejects when the signal is aborted. */
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
}

/** How `mesh` itself runs inside a container. */
export interface MeshProgram {
  readonly argv: readonly string[];
  readonly binds: readonly BindMount[];
  readonly env: Readonly<Record<string, string>>;
}
