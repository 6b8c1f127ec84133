import { connect } from 'node:http2';
import { isIP } from 'node:net';
import { HealthCheckRequest, HealthCheckResponse, HealthCheckResponse_ServingStatus } from '#gen/grpc/health/v1/health.ts';
import { MeshError } from '../lib/errors.ts';
import { connectToApplication } from './app-connection.ts';

const PATH = '/grpc.health.v1.Health/Check';
/** Compression flag and length stand before a message. */
const PREFIX_BYTES = 5;
/** An answer has two bytes. */
const MAX_ANSWER_BYTES = 4096;

/**
 * Asks the application's health service as a gRPC probe does; resolves when it is serving. It is spoken on a connection that
 * leaves redirection alone, which no gRPC library lets one choose.
 * https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 */
export async function checkGrpcHealth(address: string, port: number, service: string, signal: AbortSignal): Promise<void> {
  const unavailable = (reason: string, cause?: unknown): MeshError =>
    new MeshError('unavailable', `the health service on the application's port ${port} ${reason}`, cause);
  try {
    const socket = await connectToApplication(address, port, signal);
    const { body, status, message } = await exchange(socket, address, port, service);
    if (status !== '0') throw unavailable(`answers with status ${status}${message === '' ? '' : ` (${message})`}`);
    const answer = HealthCheckResponse.decode(body.subarray(PREFIX_BYTES));
    const name = Object.entries(HealthCheckResponse_ServingStatus).find(([, value]) => value === answer.status)?.[0];
    if (answer.status !== HealthCheckResponse_ServingStatus.SERVING) throw unavailable(`says ${name ?? answer.status}`);
  } catch (thrown) {
    if (thrown instanceof MeshError) throw thrown;
    throw unavailable(signal.aborted ? 'does not answer in time' : `does not answer: ${MeshError.from(thrown).message}`, thrown);
  }
}

interface Answer {
  readonly body: Buffer;
  readonly status: string;
  readonly message: string;
}

function exchange(
  socket: Awaited<ReturnType<typeof connectToApplication>>,
  address: string,
  port: number,
  service: string,
): Promise<Answer> {
  const authority = `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  const session = connect(`http://${authority}`, { createConnection: () => socket });
  return new Promise<Answer>((resolve, reject) => {
    session.on('error', reject);
    session.on('close', () => reject(new Error('the connection was closed')));
    const stream = session.request({
      ':method': 'POST',
      ':path': PATH,
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': 'kube-probe/mesh',
    });
    const chunks: Buffer[] = [];
    let size = 0;
    let status = '';
    let message = '';
    const noteStatus = (headers: { readonly [name: string]: unknown }): void => {
      if (typeof headers['grpc-status'] === 'string') status = headers['grpc-status'];
      if (typeof headers['grpc-message'] === 'string') message = headers['grpc-message'].slice(0, 200);
    };
    stream.on('response', noteStatus);
    stream.on('trailers', noteStatus);
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_ANSWER_BYTES) chunks.push(chunk);
      else stream.destroy(new Error(`an answer of more than ${MAX_ANSWER_BYTES} bytes`));
    });
    stream.on('error', reject);
    stream.on('end', () => resolve({ body: Buffer.concat(chunks), status: status === '' ? 'none' : status, message }));
    stream.end(frame(HealthCheckRequest.encode(HealthCheckRequest.fromPartial({ service })).finish()));
  }).finally(() => session.destroy());
}

function frame(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
