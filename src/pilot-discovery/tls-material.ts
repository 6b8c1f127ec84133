/** What the files of TLS say, and whom certificates name. Loaded only where TLS is served: reading X.509 takes 12 MB. */
import { awaitFiles, type FollowedFiles, type FollowOptions, followFiles } from '../io/file/follow-files.ts';
import type { Logger } from '../io/log/logger.ts';
import { caProblems, parseCertificateChain, spiffeIdOf } from '../io/x509/chain.ts';
import { parseKeyPair, type ServerKeyPair } from '../io/x509/key-pair-files.ts';
import type { Parsed, Problem } from '../lib/errors.ts';
import { formatSpiffeId } from '../lib/spiffe.ts';
import type { ServedTlsOptions } from './tls-files.ts';

export { spiffeIdOf };

export interface TlsMaterial {
  readonly keyPair: ServerKeyPair;
  readonly rootsPem: string;
}

/** Name of pilot-discovery's service account: proxies accept nobody else. */
const SERVICE_ACCOUNT = 'mesh-pilot-service-account';

/** Follows the files; bad ones at start are a MeshError `invalid`, and later the last good ones stay in force. */
export function followTlsFiles(options: ServedTlsOptions): Promise<FollowedFiles<TlsMaterial>> {
  return followFiles(following(options, 'certificates read again'));
}

/** The same, where bad ones at start are logged and waited on. */
export function awaitTlsFiles(options: ServedTlsOptions): FollowedFiles<TlsMaterial | undefined> {
  return awaitFiles(following(options, 'certificates read; TLS is served with them'));
}

function following({ files, namespace, logger, signal, onUse }: ServedTlsOptions, news: string): FollowOptions<TlsMaterial> {
  const { certFile, keyFile, caFile } = files;
  const parse = ([cert = '', key = '', roots = '']: readonly string[]): Parsed<TlsMaterial> => {
    const keyPair = parseKeyPair(cert, key, files);
    const problems = [...(keyPair.ok ? [] : keyPair.problems), ...rootProblems(roots, caFile)];
    if (!keyPair.ok || problems.length > 0) return { ok: false, problems };
    warnOfStrangers(keyPair.value, namespace, certFile, logger);
    return { ok: true, value: { keyPair: keyPair.value, rootsPem: roots } };
  };
  const paths = [certFile, keyFile, caFile];
  const onChange = (): void => {
    logger.info(news, { files: paths.join(', ') });
    onUse();
  };
  return { paths, title: 'TLS certificate', parse, onChange, logger, signal };
}

function rootProblems(pem: string, file: string): readonly Problem[] {
  const roots = parseCertificateChain(pem);
  if (!roots.ok) return roots.problems.map((problem) => ({ ...problem, file }));
  if (roots.value.length === 0) return [{ path: '', file, message: 'has no certificate' }];
  return roots.value.flatMap((root) => caProblems(root, 0)).map((problem) => ({ ...problem, file }));
}

/** Proxies would refuse a server of another name: better said here than in a thousand of their logs. */
function warnOfStrangers({ leaf }: ServerKeyPair, namespace: string, file: string, logger: Logger): void {
  const identity = spiffeIdOf(leaf);
  if (identity.ok && identity.value.namespace === namespace && identity.value.serviceAccount === SERVICE_ACCOUNT) return;
  logger.warn('proxies will not accept this certificate: it must name the service account that pilot-discovery runs as', {
    file,
    needed: `spiffe://<trust domain>/ns/${namespace}/sa/${SERVICE_ACCOUNT}`,
    found: identity.ok ? formatSpiffeId(identity.value) : identity.problems[0]?.message,
  });
}
