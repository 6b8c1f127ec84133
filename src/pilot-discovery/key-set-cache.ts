/**
 * Key sets kept over a restart, so that tokens are still accepted when an issuer cannot be reached just then (docs/decisions/key-set-cache.md). The keys
 * are public, but whoever can write them can sign tokens: what others could have written is not read.
 */
import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseJwkSet } from '../io/jwks/jwk-set.ts';
import type { Logger } from '../io/log/logger.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { writeAtomically } from '../sources/store/atomic-write.ts';

export interface KeySetCache {
  /** What a location was last fetched as, unless that is too long ago. */
  get(location: string): string | undefined;
  /** It was fetched just now. */
  put(location: string, jwks: string): void;
}

export interface KeySetCacheOptions {
  /** The service's own; it exists. */
  readonly directory: string;
  readonly now: () => Date;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

interface Entry {
  readonly jwks: string;
  /** Milliseconds of the epoch. */
  readonly fetchedAt: number;
}

const FILE = 'key-sets.json';
/** A key that its issuer has taken back is accepted for so long at most. */
const MAX_AGE: Duration = seconds(24 * 3600);
const MAX_ENTRIES = 1_000;
const MAX_BYTES = 8 * 1024 * 1024;
/** Several fetches at once are one write. */
const WRITE_AFTER: Duration = seconds(1);

/** Never rejects: what cannot be read is said in the log, and then nothing is known. */
export async function openKeySetCache({ directory, now, logger, signal }: KeySetCacheOptions): Promise<KeySetCache> {
  const path = join(directory, FILE);
  const entries = await load(directory, path, now(), logger);
  let pending = false;
  let failed = false;

  async function write(): Promise<void> {
    await sleep(WRITE_AFTER, undefined, { signal, ref: false }).catch(() => {});
    pending = false;
    const newest = [...entries].sort(([, a], [, b]) => b.fetchedAt - a.fetchedAt).slice(0, MAX_ENTRIES);
    try {
      await requireOwn(await stat(directory), directory);
      await writeAtomically(path, JSON.stringify(Object.fromEntries(newest)), { secret: true, beforeCommit: async () => {} });
      failed = false;
    } catch (thrown) {
      if (!failed) logger.warn('key sets are not kept over a restart', { reason: MeshError.from(thrown).message });
      failed = true;
    }
  }

  return {
    get(location) {
      const entry = entries.get(location);
      return entry !== undefined && isFresh(entry, now()) ? entry.jwks : undefined;
    },
    put(location, jwks) {
      entries.set(location, { jwks, fetchedAt: now().getTime() });
      if (pending) return;
      pending = true;
      void write();
    },
  };
}

async function load(directory: string, path: string, now: Date, logger: Logger): Promise<Map<string, Entry>> {
  try {
    await requireOwn(await stat(directory), directory);
    const entries = parse(await readOwn(path)).filter(([, entry]) => isFresh(entry, now));
    if (entries.length > 0) logger.info('key sets of before the restart are known', { path, locations: entries.length });
    return new Map(entries);
  } catch (thrown) {
    const isAbsent = thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT';
    if (!isAbsent) logger.warn('kept key sets are not used', { path, reason: MeshError.from(thrown).message });
    return new Map();
  }
}

/** A link is not followed, and what was checked is what is read. */
async function readOwn(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    await requireOwn(found, path);
    if (!found.isFile() || found.size > MAX_BYTES)
      throw new MeshError('failed_precondition', `${path} is no file of at most ${MAX_BYTES} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

async function requireOwn({ uid, mode }: { readonly uid: number; readonly mode: number }, path: string): Promise<void> {
  if (uid === process.getuid?.() && (mode & 0o022) === 0) return;
  throw new MeshError(
    'failed_precondition',
    `${path} must belong to the user that pilot-discovery runs as, and nobody else may write to it`,
  );
}

function parse(text: string): [string, Entry][] {
  const document: unknown = JSON.parse(text);
  if (typeof document !== 'object' || document === null) return [];
  return Object.entries(document)
    .slice(0, MAX_ENTRIES)
    .flatMap(([location, value]: [string, unknown]): [string, Entry][] => {
      if (typeof value !== 'object' || value === null || !('jwks' in value) || !('fetchedAt' in value)) return [];
      const { jwks, fetchedAt } = value;
      if (typeof jwks !== 'string' || typeof fetchedAt !== 'number') return [];
      const checked = parseJwkSet(jwks);
      return checked.ok ? [[location, { jwks: checked.value, fetchedAt }]] : [];
    });
}

/** One of the future is of a clock that was wrong: nothing is known of its age. */
function isFresh({ fetchedAt }: Entry, now: Date): boolean {
  const age = now.getTime() - fetchedAt;
  return age >= 0 && age <= MAX_AGE;
}
