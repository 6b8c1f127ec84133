/** The files of TLS: the certificate that pilot-discovery shows and the roots that it checks proxies' certificates against. */
import { existsSync } from 'node:fs';
import { MeshError } from '../lib/errors.ts';

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  /** `awaited`: nobody asked for them, and TLS is served from when they appear. */
  readonly presence: 'required' | 'awaited';
}

/**
 * The files to follow: those that were asked for must be there; of the default ones all or none.
 * Throws a MeshError `usage` that names what is missing.
 */
export function chooseTlsFiles(files: Omit<TlsFiles, 'presence'>, given: boolean): TlsFiles {
  const paths: readonly (readonly [flag: string, path: string])[] = [
    ['--tlsCertFile', files.certFile],
    ['--tlsKeyFile', files.keyFile],
    ['--caCertFile', files.caFile],
  ];
  const missing = paths.filter(([, path]) => !existsSync(path));
  if (missing.length === 0) return { ...files, presence: 'required' };
  if (!given && missing.length === paths.length) return { ...files, presence: 'awaited' };
  const names = missing.map(([flag, path]) => `${path} (${flag})`).join(', ');
  throw new MeshError('usage', `TLS needs a certificate, its key and the roots of proxies; missing: ${names}`);
}
