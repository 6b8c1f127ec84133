/** Well-known images of back ends, which the lab runs from programs of this machine or of the set-up. */

import { librariesOf, packageDirectory, zipkinJar } from '../kept-programs.ts';

/** What may be where; both give paths. */
export interface MachineFiles {
  /** A program by name on PATH, or by its path; undefined when it cannot be run. */
  readonly program: (name: string) => string | undefined;
  readonly exists: (path: string) => boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Small and quick to start; the image takes the same variable. */
const JAVA_OPTS = '-Xmx160m -XX:+UseSerialGC -XX:TieredStopAtLevel=1';

/**
 * Command lines by the last part of an image's name, for containers that give none; their `args` are added. An image whose program is
 * neither installed nor in the user's cache, where the set-up keeps what the tests need, is left out.
 */
export function backEndImages(env: Environment, files: MachineFiles): ReadonlyMap<string, readonly string[]> {
  const debian = (folder: 'prometheus' | 'redis', name: string): readonly string[] | undefined => {
    const installed = files.program(name);
    if (installed !== undefined) return [installed];
    const directory = packageDirectory(folder, env);
    const kept = files.program(`${directory}/usr/bin/${name}`);
    return kept === undefined ? undefined : ['/usr/bin/env', `LD_LIBRARY_PATH=${librariesOf(directory)}`, kept];
  };
  const jar = zipkinJar(env);
  const java = files.program('java');
  const zipkin = ['/bin/sh', '-c', `exec ${java} \${JAVA_OPTS:-${JAVA_OPTS}} -jar ${jar} "$@"`, 'zipkin'];
  const all = {
    prometheus: debian('prometheus', 'prometheus'),
    redis: debian('redis', 'redis-server'),
    zipkin: java !== undefined && files.exists(jar) ? zipkin : undefined,
  };
  return new Map(Object.entries(all).flatMap(([name, argv]) => (argv === undefined ? [] : [[name, argv]])));
}
