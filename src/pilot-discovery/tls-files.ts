/** The files of TLS: the certificate that pilot-discovery shows and the roots that it checks proxies' certificates against. */
import { existsSync } from 'node:fs';
import { MeshError } from '../lib/errors.ts';

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

/**
 * The files to follow, if TLS is to be served: those that were asked for must be there; of the default ones all or none.
 * Throws a MeshError `usage` that names what is missing.
 */
export function chooseTlsFiles(files: TlsFiles, given: boolean): TlsFiles | undefined {
  const paths: readonly (readonly [flag: string, path: string])[] = [
    ['--tlsCertFile', files.certFile],
    ['--tlsKeyFile', files.keyFile],
    ['--caCertFile', files.caFile],
  ];
  const missing = paths.filter(([, path]) => !existsSync(path));
  if (missing.length === 0) return files;
  if (!given && missing.length === paths.length) return undefined;
  const names = missing.map(([flag, path]) => `${path} (${flag})`).join(', ');
  throw new MeshError('usage', `TLS needs a certificate, its key and the roots of proxies; missing: ${names}`);
}
