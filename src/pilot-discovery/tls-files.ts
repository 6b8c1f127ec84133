/** The files of TLS: the certificate that pilot-discovery shows and the roots that it checks proxies' certificates against. */
import { existsSync } from 'node:fs';
import type { Logger } from '../io/log/logger.ts';
import { MeshError } from '../lib/errors.ts';

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  /** `awaited`: nobody asked for them, and TLS is served from when they appear. */
  readonly presence: 'required' | 'awaited';
}

export interface ServedTlsOptions {
  readonly files: TlsFiles;
  /** Of the control plane, which the certificate has to name. */
  readonly namespace: string;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Runs when new files are in force. */
  readonly onUse: () => void;
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
