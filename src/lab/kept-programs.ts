/** Programs that the project's set-up has fetched for tests and trials, in the user's cache. */
import { join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

export const ZIPKIN_VERSION = '3.4.4';
const LIBRARIES = ['usr/lib/x86_64-linux-gnu', 'usr/lib/aarch64-linux-gnu'];

export function cacheDirectory(env: Environment): string {
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] ?? '/root', '.cache'), 'mesh');
}

/** A system package, unpacked: its programs are in `usr/bin`. */
export function packageDirectory(name: 'prometheus' | 'redis', env: Environment): string {
  return join(cacheDirectory(env), name, 'debian');
}

/** What programs of an unpacked package need as LD_LIBRARY_PATH. */
export function librariesOf(directory: string): string {
  return LIBRARIES.map((library) => join(directory, library)).join(':');
}

export function zipkinJar(env: Environment): string {
  return join(cacheDirectory(env), 'zipkin', ZIPKIN_VERSION, 'zipkin-server.jar');
}
