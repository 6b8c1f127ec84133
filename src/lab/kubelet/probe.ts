import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { Duration } from '../../lib/duration.ts';
import type { ContainerSpec, HttpGet, ProbeAction } from './pod-spec.ts';

/** Whom a probe asks. */
export interface ProbeTarget {
  readonly podIp: string;
  readonly ports: ContainerSpec['ports'];
  /** Runs a command in the container and gives its exit code. */
  readonly exec: (command: readonly string[], timeout: Duration) => Promise<number>;
}

export type ProbeResult = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** Makes one attempt of a probe, as the kubelet does: from the node, to the pod's address unless it names a host. */
export async function probeOnce(action: ProbeAction, timeout: Duration, target: ProbeTarget): Promise<ProbeResult> {
  try {
    switch (action.type) {
      case 'httpGet':
        return await probeHttp(action, timeout, target);
      case 'tcpSocket':
        return await probeTcp(action.host ?? target.podIp, portNumber(action.port, target), timeout);
      case 'exec': {
        const code = await target.exec(action.command, timeout);
        return code === 0 ? { ok: true } : { ok: false, message: `the command ended with exit code ${code}` };
      }
    }
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}

async function probeHttp(action: HttpGet, timeout: Duration, target: ProbeTarget): Promise<ProbeResult> {
  const status = await answeredHttp(action, timeout, target);
  if (status >= 200 && status < 400) return { ok: true };
  return { ok: false, message: `HTTP status ${status} from ${action.path}` };
}

/** The status of what is answered. Rejects when nobody answers. */
export function answeredHttp(action: HttpGet, timeout: Duration, target: ProbeTarget): Promise<number> {
  const headers = {
    'user-agent': 'kube-probe/mesh-lab',
    ...Object.fromEntries(action.headers.map(({ name, value }) => [name, value])),
  };
  const options = {
    host: action.host ?? target.podIp,
    port: portNumber(action.port, target),
    path: action.path,
    headers,
    agent: false,
    signal: AbortSignal.timeout(timeout),
  } as const;
  return new Promise((resolve, reject) => {
    // As the kubelet: a probe asks whether the server answers, not who it is.
    const request = action.scheme === 'HTTPS' ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options);
    request.on('response', (response) => {
      response.destroy();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', reject);
    request.end();
  });
}

function probeTcp(host: string, port: number, timeout: Duration): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal: AbortSignal.timeout(timeout) });
    socket.once('connect', () => {
      socket.destroy();
      resolve({ ok: true });
    });
    socket.once('error', reject);
  });
}

function portNumber(port: number | string, { ports }: ProbeTarget): number {
  if (typeof port === 'number') return port;
  const named = ports.find(({ name }) => name === port)?.port ?? Number(port);
  if (Number.isInteger(named)) return named;
  throw new Error(`the container has no port named "${port}"`);
}
