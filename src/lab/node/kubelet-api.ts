/** The part of a kubelet's API that the lab has: logs of containers, for those whom the cluster trusts and lets. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import type { Logger } from '../../io/log/logger.ts';
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { Redacted } from '../../lib/redacted.ts';
import type { KubeObject } from '../../model/object.ts';
import { Fields } from '../kubelet/fields.ts';
import { type LabPaths, podLogDirectory } from '../paths.ts';
import { readLog } from './log-reader.ts';
import { type LogRequest, parseLogRequest } from './log-request.ts';

/** The kubelet's own (https://kubernetes.io/docs/reference/networking/ports-and-protocols/). */
export const KUBELET_PORT = 10_250;
/** Of the API server, and of whoever else has a certificate: each log that is followed holds one. */
const MAX_CONNECTIONS = 256;

/** Who calls, as Kubernetes reads client certificates. */
export interface Caller {
  readonly user: string;
  readonly groups: readonly string[];
}

export interface KubeletApiOptions {
  readonly host: string;
  readonly port: number;
  /** Of the server; PEM. */
  readonly certificate: string;
  readonly key: Redacted;
  /** Who signs the certificates of callers; PEM. */
  readonly clientAuthority: string;
  /** Whether the cluster lets a caller do with this node what he asks (`nodes/proxy`). Rejects when that cannot be found out. */
  readonly mayCall: (caller: Caller, verb: 'get') => Promise<boolean>;
  readonly pods: () => readonly KubeObject[];
  readonly paths: LabPaths;
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Serves until the signal is aborted; TLS lets nobody in without a certificate of the authority. Rejects when it cannot listen. */
export async function serveKubeletApi(options: KubeletApiOptions): Promise<Server> {
  const { host, port, certificate, key, clientAuthority, logger, signal } = options;
  const tls = { cert: certificate, key: key.reveal(), ca: clientAuthority, requestCert: true, rejectUnauthorized: true } as const;
  const server = createServer({ ...tls, minVersion: 'TLSv1.2' }, (request, response) => {
    answer(request, response, options).catch((thrown: unknown) => {
      const error = MeshError.from(thrown);
      if (!response.headersSent) refuse(response, 500, error.message);
      else response.destroy();
      if (!signal.aborted && !request.destroyed) logger.warn('a request of the API server failed', { error: error.message });
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen({ host, port, signal });
  await once(server, 'listening');
  signal.addEventListener('abort', () => server.closeAllConnections(), { once: true });
  return server;
}

async function answer(request: IncomingMessage, response: ServerResponse, options: KubeletApiOptions): Promise<void> {
  if (request.method !== 'GET') return refuse(response, 405, 'the lab has no exec, attach and port-forward; use mesh lab exec');
  const caller = callerOf(request);
  if (caller === undefined || !(await options.mayCall(caller, 'get')))
    return refuse(response, 403, `user "${caller?.user ?? ''}" may not get nodes/proxy of this node`);
  const parsed = parseLogRequest(request.url ?? '/');
  if (!parsed.ok) return refuse(response, parsed.status, parsed.message);
  const stateOf = (): ContainerState => containerState(options.pods(), parsed.value);
  const state = stateOf();
  const { namespace, pod, container } = parsed.value;
  if (state === 'unknown') return refuse(response, 404, `pod ${namespace}/${pod} of this node has no container "${container}"`);
  if (state === 'waiting') return refuse(response, 400, `container "${container}" in pod "${pod}" is waiting to start`);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const reading = {
    isRunning: () => stateOf() === 'running',
    sleep: options.sleep,
    signal: AbortSignal.any([options.signal, gone.signal]),
  };
  const path = `${podLogDirectory(options.paths, namespace, pod)}/${container}.log`;
  response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders();
  await pipeline(Readable.from(readLog(path, parsed.value, reading)), response).catch((error: unknown) => {
    if (!gone.signal.aborted) throw error;
  });
}

/** https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates */
function callerOf({ socket }: IncomingMessage): Caller | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const { subject } = socket.getPeerCertificate();
  const [user = ''] = [subject?.CN ?? ''].flat();
  return user === '' ? undefined : { user, groups: [subject.O ?? []].flat() };
}

type ContainerState = 'unknown' | 'waiting' | 'running' | 'ended';

function containerState(pods: readonly KubeObject[], { namespace, pod, container }: LogRequest): ContainerState {
  const object = pods.find(({ metadata }) => metadata.name === pod && metadata.namespace === namespace);
  const spec = new Fields(object?.['spec'], 'spec', []);
  const known = [...spec.list('initContainers'), ...spec.list('containers')].some((each) => each.string('name') === container);
  if (!known) return 'unknown';
  const fields = new Fields(object?.['status'], 'status', []);
  const status = [...fields.list('initContainerStatuses'), ...fields.list('containerStatuses')].find(
    (each) => each.string('name') === container,
  );
  if (status?.object('state').has('running')) return 'running';
  const hasRun = status?.object('state').has('terminated') || status?.object('lastState').has('terminated');
  return hasRun === true ? 'ended' : 'waiting';
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${message}\n`);
}
