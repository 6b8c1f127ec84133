import { MeshError } from '../lib/errors.ts';
import { connectToApplication } from './app-connection.ts';
import type { AppProbe, ProbeAction } from './app-probe.ts';
import { requestApplication } from './app-request.ts';
import { checkGrpcHealth } from './grpc-health-check.ts';

/** What the kubelet is told: a status from 200 to 399 is a success of a probe to it, and any status one of a lifecycle hook. */
export interface ProbeAnswer {
  /** `none`: the application did not answer a hook, so that the kubelet must not have an answer either. */
  readonly status: number | 'none';
  readonly text: string;
}

const UNHEALTHY = 503;
/** Of the application's answer: the kubelet shows it in its events. */
const MAX_BODY_BYTES = 1024;
/** As the kubelet's. */
const MAX_REDIRECTS = 10;

/** Makes one attempt of an application's probe, or calls its hook, as the kubelet would have. @param address of the pod */
export async function probeApplication(
  { type, action, timeout }: AppProbe,
  address: string,
  gone: AbortSignal,
): Promise<ProbeAnswer> {
  const signal = AbortSignal.any([gone, AbortSignal.timeout(timeout)]);
  try {
    switch (action.kind) {
      case 'httpGet':
        return await probeHttp(action, address, signal);
      case 'tcpSocket':
        (await connectToApplication(address, action.port, signal)).destroy();
        return { status: 200, text: `the application's port ${action.port} accepts connections` };
      case 'grpc':
        await checkGrpcHealth(address, action.port, action.service, signal);
        return { status: 200, text: 'the application is serving' };
    }
  } catch (thrown) {
    const late = signal.aborted && !gone.aborted;
    const reason = late ? 'does not answer in time' : `does not answer: ${MeshError.from(thrown).message}`;
    const text = thrown instanceof MeshError && !late ? thrown.message : `the application's port ${action.port} ${reason}`;
    return { status: type === 'hook' ? 'none' : UNHEALTHY, text };
  }
}

type HttpGet = Extract<ProbeAction, { readonly kind: 'httpGet' }>;

/** Follows redirects, but not to elsewhere: where the application sends people to says nothing about itself. */
async function probeHttp(action: HttpGet, address: string, signal: AbortSignal): Promise<ProbeAnswer> {
  const names = action.headers.some(([name]) => name.toLowerCase() === 'user-agent');
  const headers = names ? action.headers : [...action.headers, ['user-agent', 'kube-probe/mesh'] as const];
  let next = { scheme: action.scheme, port: action.port, path: action.path };
  for (let redirects = 0; ; redirects += 1) {
    const answer = await requestApplication({ ...next, address, headers, maxBytes: MAX_BODY_BYTES, beyond: 'cut', signal });
    const target = answer.status >= 300 && answer.status < 400 ? redirectTarget(answer.location, next, address) : undefined;
    if (target === undefined) return { status: answer.status < 400 ? 200 : answer.status, text: answer.body };
    if (redirects === MAX_REDIRECTS)
      return { status: UNHEALTHY, text: `the application redirects more than ${MAX_REDIRECTS} times` };
    next = target;
  }
}

interface Target {
  readonly scheme: 'http' | 'https';
  readonly port: number;
  readonly path: string;
}

function redirectTarget(location: string, from: Target, address: string): Target | undefined {
  const host = address.includes(':') ? `[${address}]` : address;
  const url = location === '' ? null : URL.parse(location, `${from.scheme}://${host}:${from.port}${from.path}`);
  if (url === null || url.hostname !== host) return undefined;
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  return { scheme, port: Number(url.port) || (scheme === 'https' ? 443 : 80), path: `${url.pathname}${url.search}` };
}
