/** The flags of an authority below another one. */
import { resolve } from 'node:path';
import type { OptionsOf } from '../flags/table.ts';
import { type HostPort, parseListenAddress } from '../lib/address.ts';
import { MeshError } from '../lib/errors.ts';
import type { CaFlags } from './flags.ts';
import type { UpstreamConfig, UpstreamCredential } from './upstream-client.ts';

type Options = OptionsOf<CaFlags>;

/** Flags whose authority the upstream one takes the place of. */
const REPLACED = ['signing-cert', 'signing-key', 'cert-chain'] as const;

/** Throws a MeshError `usage` that names the flag. Paths are taken from the directory `cwd`. */
export function resolveUpstream(options: Options, cwd: string): UpstreamConfig {
  if (options['self-signed-ca']) throw conflict('self-signed-ca');
  const replaced = REPLACED.find((flag) => options[flag] !== '');
  if (replaced !== undefined) throw conflict(replaced);
  if (options['root-cert'] === '') {
    throw new MeshError(
      'usage',
      'flag --upstream-ca-address needs --root-cert beside it: the root that the upstream CA leads to',
    );
  }
  if (!(options['requested-ca-cert-ttl'] > 0)) {
    throw new MeshError('usage', 'flag --requested-ca-cert-ttl: a certificate must be valid for more than 0s');
  }
  return {
    address: parseAddress(options['upstream-ca-address']),
    rootFile: resolve(cwd, options['root-cert']),
    credential: parseCredential(options, cwd),
    requestedTtl: options['requested-ca-cert-ttl'],
  };
}

function conflict(flag: string): MeshError {
  return new MeshError(
    'usage',
    `flag --${flag} cannot stand beside --upstream-ca-address: the CA's certificate comes from there`,
  );
}

function parseAddress(text: string): HostPort {
  const parsed = parseListenAddress(text);
  if (parsed.ok && !text.startsWith(':') && parsed.value.port > 0) return parsed.value;
  throw new MeshError('usage', `flag --upstream-ca-address: "${text}" is not host:port, such as 10.0.0.1:8060`);
}

/** A certificate where one is given, else the token. */
function parseCredential(options: Options, cwd: string): UpstreamCredential {
  const [chainFile, keyFile] = [options['upstream-ca-client-cert'], options['upstream-ca-client-key']];
  if (chainFile === '' && keyFile === '') return { type: 'token', file: resolve(cwd, options['upstream-ca-token']) };
  if (chainFile === '' || keyFile === '') {
    throw new MeshError('usage', 'flags --upstream-ca-client-cert and --upstream-ca-client-key need each other');
  }
  return { type: 'certificate', chainFile: resolve(cwd, chainFile), keyFile: resolve(cwd, keyFile) };
}
