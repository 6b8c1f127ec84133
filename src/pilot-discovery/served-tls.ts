/** TLS as it is served: from the start, or from when the files of its certificates appear. */
import type { X509Certificate } from 'node:crypto';
import { access } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { followChanges } from '../io/file/file-changes.ts';
import type { FollowedFiles } from '../io/file/follow-files.ts';
import type { Parsed } from '../lib/errors.ts';
import type { SpiffeId } from '../lib/spiffe.ts';
import type { ServedTlsOptions } from './tls-files.ts';
import type { TlsMaterial } from './tls-material.ts';

export interface ServedTls {
  /** Undefined while there is nothing to serve TLS with. */
  readonly material: () => TlsMaterial | undefined;
  /** The files, where they had to be there from the start. */
  readonly files: FollowedFiles<TlsMaterial> | undefined;
  /** Whom a certificate names. */
  readonly spiffeIdOf: (certificate: X509Certificate) => Parsed<SpiffeId>;
}

/** Nobody can have shown a certificate. */
const NOT_SERVED: Parsed<SpiffeId> = { ok: false, problems: [{ path: '', message: 'TLS is not served' }] };

/** Rejects with a MeshError `invalid` for required files that are bad at start; what turns bad later leaves the last good ones in force. */
export async function serveTls(options: ServedTlsOptions): Promise<ServedTls> {
  if (options.files.presence === 'required') {
    const { followTlsFiles, spiffeIdOf } = await import('./tls-material.ts');
    const files = await followTlsFiles(options);
    return { material: files.value, files, spiffeIdOf };
  }
  return awaitTls(options);
}

function awaitTls(options: ServedTlsOptions): ServedTls {
  let served: ServedTls | undefined;
  void whenPresent(options).then(async () => {
    const { awaitTlsFiles, spiffeIdOf } = await import('./tls-material.ts');
    if (!options.signal.aborted) served = { material: awaitTlsFiles(options).value, files: undefined, spiffeIdOf };
  });
  return {
    material: () => served?.material(),
    files: undefined,
    spiffeIdOf: (certificate) => served?.spiffeIdOf(certificate) ?? NOT_SERVED,
  };
}

/** Resolves when all the files are there, or the signal aborts. What reads them is loaded only then, for it takes memory. */
async function whenPresent({ files, signal }: ServedTlsOptions): Promise<void> {
  const paths = [files.certFile, files.keyFile, files.caFile];
  const found = new AbortController();
  const read = async (): Promise<boolean> => {
    const present = await Promise.all(paths.map((path) => access(path))).then(
      () => true,
      () => false,
    );
    if (present) found.abort();
    return true;
  };
  await followChanges({
    paths,
    read,
    sleep: (time, stop) => sleep(time, undefined, { signal: stop, ref: false }),
    signal: AbortSignal.any([signal, found.signal]),
  });
}
