/** The back ends that mixs is tested against, and where the set-up keeps their programs: in the user's cache. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { cacheDirectory, librariesOf, packageDirectory } from '../../src/lab/kept-programs.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export const OPA_MODULE = 'github.com/open-policy-agent/opa';
export const OPA_VERSION = '1.22.0';

export type Backend = 'redis' | 'prometheus' | 'opa';
export const BACKENDS: readonly Backend[] = ['redis', 'prometheus', 'opa'];

export interface BackendProgram {
  readonly path: string;
  /** What it needs in its environment besides ours. */
  readonly env: Readonly<Record<string, string>>;
}

/** A folder for all that is unpacked of a back end. */
export function backendDirectory(backend: Backend, env: Environment): string {
  return backend === 'opa' ? join(cacheDirectory(env), 'opa', OPA_VERSION) : packageDirectory(backend, env);
}

/** The system's program, or the one of the set-up. */
export function findBackend(backend: Backend, env: Environment): BackendProgram | undefined {
  const directory = backendDirectory(backend, env);
  const kept = { redis: 'usr/bin/redis-server', prometheus: 'usr/bin/prometheus', opa: 'opa' }[backend];
  if (backend !== 'opa') {
    const program = backend === 'redis' ? 'redis-server' : backend;
    const places = [...(env['PATH'] ?? '').split(delimiter).filter((place) => place !== ''), '/usr/bin'];
    const installed = places.map((place) => join(place, program)).find(existsSync);
    if (installed !== undefined) return { path: installed, env: {} };
  }
  const path = join(directory, kept);
  if (!existsSync(path)) return undefined;
  return { path, env: { LD_LIBRARY_PATH: librariesOf(directory) } };
}
