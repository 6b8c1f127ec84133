/** The certificate that the authority's own gRPC server shows, issued by itself and renewed in time. */
import { isIP } from 'node:net';
import type { Logger } from '../io/log/logger.ts';
import { generateKeyPair, privateKeyPem } from '../io/x509/key.ts';
import type { SubjectAltName } from '../io/x509/names.ts';
import { type Validity, validityFrom } from '../io/x509/template.ts';
import type { Duration } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { type Authority, intermediatePems, issue } from './authority.ts';
import type { LiveAuthority } from './live-authority.ts';
import { type GracePeriod, isRotationDue } from './rotation.ts';

export interface ServerIdentityOptions {
  readonly authority: LiveAuthority;
  readonly names: readonly SubjectAltName[];
  readonly ttl: Duration;
  readonly grace: GracePeriod;
  readonly now: () => Date;
  readonly newSerial: () => Uint8Array;
  readonly logger: Logger;
}

export interface ServerIdentity {
  /** What the server shows to a connection made now. */
  current(): { readonly keyPem: string; readonly chainPem: string };
  /** Renews the certificate if it is due or of an authority of before; a failure is logged and leaves the old one. */
  renewIfDue(): Promise<void>;
}

interface Held {
  readonly authority: Authority;
  readonly keyPem: string;
  readonly chainPem: string;
  readonly validity: Validity;
}

export async function createServerIdentity(options: ServerIdentityOptions): Promise<ServerIdentity> {
  let held = await make(options);
  return {
    current: () => held,
    async renewIfDue() {
      const isCurrent = held.authority === options.authority.current();
      if (isCurrent && !isRotationDue(held.validity, options.grace, options.now())) return;
      try {
        held = await make(options);
      } catch (thrown) {
        options.logger.error('the server certificate cannot be renewed', { reason: MeshError.from(thrown).message });
      }
    },
  };
}

async function make({ authority: live, names, ttl, now, newSerial, logger }: ServerIdentityOptions): Promise<Held> {
  const authority = live.current();
  const pair = await generateKeyPair('ec-p256');
  const validity = validityFrom(now(), ttl, authority.validity);
  const template = { subject: {}, names, publicKey: pair.publicKey, serial: newSerial(), ...validity } as const;
  const issued = await issue(authority, { ...template, use: { type: 'tls', server: true, client: false } }, now());
  logger.info('server certificate issued', {
    names: names.map(({ value }) => value),
    serial: issued.serial,
    expires: issued.notAfter.toISOString(),
  });
  const chainPem = [issued.pem, ...intermediatePems(authority)].join('');
  return { authority, keyPem: privateKeyPem(pair.privateKey).reveal(), chainPem, validity };
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/i;

/**
 * Names of the server: each host as given, and those of one label also as clients in other namespaces call the service,
 * `host.namespace` and `host.namespace.svc`. Throws `usage` for what is neither a host name nor an address.
 */
export function serverNames(hosts: readonly string[], namespace: string): readonly SubjectAltName[] {
  const names = hosts.flatMap((host): readonly SubjectAltName[] => {
    if (isIP(host) !== 0) return [{ type: 'ip', value: host }];
    if (!HOST_NAME.test(host)) {
      throw new MeshError('usage', `--grpc-hostname and --grpc-host-identities take host names, and "${host}" is none`);
    }
    const forms = host.includes('.') ? [host] : [host, `${host}.${namespace}`, `${host}.${namespace}.svc`];
    return forms.map((value) => ({ type: 'dns', value }) as const);
  });
  return [...new Map(names.map((name) => [name.value, name])).values()];
}
