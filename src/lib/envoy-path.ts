/** Where the Envoy binary of the set-up is. */

export const ENVOY_VERSION = '1.40.0';

type Environment = Readonly<Record<string, string | undefined>>;

/** The path in the user's cache directory (XDG Base Directory Specification). */
export function envoyCachePath(env: Environment): string {
  const cache = env['XDG_CACHE_HOME'] || `${env['HOME'] ?? '/root'}/.cache`;
  return `${cache}/mesh/envoy/${ENVOY_VERSION}/envoy`;
}

/** ENVOY_PATH if it is set, else the binary that the set-up installed. */
export function envoyPath(env: Environment): string {
  return env['ENVOY_PATH'] || envoyCachePath(env);
}
