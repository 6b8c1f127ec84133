import { readFile } from 'node:fs/promises';
import { MeshError } from '../lib/errors.ts';
import type { RunProgram } from './iptables.ts';
import { INBOUND_SOURCE } from './rules.ts';

/** What IPv6 is in this network namespace: absent from the kernel, without any address, or in use. */
export type Ipv6State = 'absent' | 'unused' | 'used';

/** Reads /proc/net/if_inet6, which lists the addresses of the current network namespace. */
export async function ipv6State(path = '/proc/self/net/if_inet6'): Promise<Ipv6State> {
  const addresses = await readFile(path, 'utf8').catch(() => undefined);
  if (addresses === undefined) return 'absent';
  return addresses.trim() === '' ? 'unused' : 'used';
}

/** Gives loopback the source address of inbound requests: IPv4 has all of 127.0.0.0/8 there, IPv6 only ::1. */
export async function addInboundSource(run: RunProgram): Promise<void> {
  const result = await run('ip', ['-6', 'address', 'replace', INBOUND_SOURCE.ipv6, 'dev', 'lo'], '');
  if (result.code !== 0) {
    throw new MeshError(
      'failed_precondition',
      `cannot give loopback the address ${INBOUND_SOURCE.ipv6}: ${result.stderr.trim()}`,
    );
  }
}

/** Takes the address away again; that it is not there is fine. */
export async function removeInboundSource(run: RunProgram): Promise<void> {
  await run('ip', ['-6', 'address', 'delete', INBOUND_SOURCE.ipv6, 'dev', 'lo'], '').catch(() => undefined);
}
