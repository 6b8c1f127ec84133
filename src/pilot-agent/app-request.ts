import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { MeshError } from '../lib/errors.ts';
import { connectToApplication } from './app-connection.ts';

export interface AppRequest {
  readonly scheme: 'http' | 'https';
  /** Of the pod. */
  readonly address: string;
  readonly port: number;
  /** With the query. */
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Of the answer's body; what is more is cut off (`cut`) or makes the request fail (`fail`). */
  readonly maxBytes: number;
  readonly beyond: 'cut' | 'fail';
  /** Ends the request, however far it is. */
  readonly signal: AbortSignal;
}

export interface AppAnswer {
  readonly status: number;
  readonly contentType: string;
  /** Empty without the header. */
  readonly location: string;
  readonly body: string;
}

/** A GET to the application over HTTP/1.1, on a connection of its own. Rejects with a MeshError `unavailable`. */
export async function requestApplication(call: AppRequest): Promise<AppAnswer> {
  try {
    const socket = await connectToApplication(call.address, call.port, call.signal);
    const stream = call.scheme === 'https' ? await secured(socket, call) : socket;
    return await exchange(stream, call);
  } catch (thrown) {
    if (thrown instanceof MeshError) throw thrown;
    const reason = call.signal.aborted ? 'does not answer in time' : `does not answer: ${MeshError.from(thrown).message}`;
    throw new MeshError('unavailable', `the application's port ${call.port} ${reason}`, thrown);
  }
}

/** As the kubelet: a probe asks whether the server answers, not who it is. */
function secured(socket: Socket, call: AppRequest): Promise<TLSSocket> {
  const host = call.headers.find(([name]) => name.toLowerCase() === 'host')?.[1]?.replace(/:[0-9]+$/, '');
  const isName = host !== undefined && /^[A-Za-z][A-Za-z0-9.-]*$/.test(host);
  return new Promise((resolve, reject) => {
    const tls = connectTls({ socket, rejectUnauthorized: false, ...(isName ? { servername: host } : {}) });
    tls.once('secureConnect', () => resolve(tls));
    tls.once('error', reject);
  });
}

function exchange(socket: Socket, call: AppRequest): Promise<AppAnswer> {
  return new Promise((resolve, reject) => {
    const { address, port, path, signal } = call;
    const request = httpRequest({ host: address, port, path, signal, createConnection: () => socket });
    for (const [name, value] of call.headers) request.setHeader(name, value);
    request.setHeader('connection', 'close');
    request.on('error', reject);
    request.on('response', (response) => {
      readBody(response, call).then(
        (body) =>
          resolve({
            status: response.statusCode ?? 0,
            contentType: response.headers['content-type'] ?? '',
            location: response.headers.location ?? '',
            body,
          }),
        reject,
      );
    });
    request.end();
  });
}

async function readBody(response: IncomingMessage, { maxBytes, beyond, port }: AppRequest): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    const bytes: Buffer = chunk;
    size += bytes.length;
    if (size > maxBytes && beyond === 'fail')
      throw new MeshError('unavailable', `the application's port ${port} answers more than ${maxBytes} bytes`);
    chunks.push(bytes.subarray(0, bytes.length - Math.max(0, size - maxBytes)));
    // Leaving the loop destroys the connection.
    if (size > maxBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}
