import { connect, type Socket } from 'node:net';
import { type Duration, formatDuration, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { readAnswer } from './forward-message.ts';

export interface ForwardTarget {
  readonly host: string;
  readonly port: number;
  /** For a message, from the connection to the acknowledgement. */
  readonly deadline: Duration;
}

const CONNECT_LIMIT = seconds(5);
const KEEP_ALIVE = seconds(30);
/** An acknowledgement has some 40. */
const MAX_ANSWER_BYTES = 1024;

/** A connection to a server of the forward protocol, made when it is needed and again after every failure. One message at a time. */
export class ForwardConnection {
  readonly #target: ForwardTarget;
  readonly #name: string;
  #socket: Socket | undefined;

  constructor(target: ForwardTarget) {
    this.#target = target;
    this.#name = target.host.includes(':') ? `[${target.host}]:${target.port}` : `${target.host}:${target.port}`;
  }

  /**
   * Resolves when the server has acknowledged the chunk.
   *
   * @throws MeshError `unavailable` or `deadline_exceeded`: whether the server has taken the message is not known then
   */
  async send(message: Buffer, chunk: string, signal: AbortSignal): Promise<void> {
    const { deadline } = this.#target;
    const limit = AbortSignal.timeout(deadline);
    const ended = AbortSignal.any([signal, limit]);
    try {
      this.#socket ??= await this.#connect(ended);
      await acknowledged(this.#socket, message, chunk, ended);
    } catch (thrown) {
      this.close();
      if (limit.aborted)
        throw new MeshError('deadline_exceeded', `${this.#name} has not acknowledged in ${formatDuration(deadline)}`, thrown);
      throw new MeshError('unavailable', `${this.#name}: ${reasonOf(thrown)}`, thrown);
    }
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  async #connect(ended: AbortSignal): Promise<Socket> {
    const { host, port } = this.#target;
    const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE });
    // What goes wrong is told by whoever waits; a connection that ends while nobody does is made anew.
    socket.on('error', () => {});
    const drop = (): void => {
      socket.destroy();
      if (this.#socket === socket) this.#socket = undefined;
    };
    socket.once('end', drop).once('close', drop);
    const late = AbortSignal.any([ended, AbortSignal.timeout(CONNECT_LIMIT)]);
    await settled(socket, late, (resolve) => socket.once('connect', resolve));
    return socket;
  }
}

/** A name with several addresses fails with as many errors, and with no message of its own. */
const reasonOf = (thrown: unknown): string =>
  MeshError.from(thrown instanceof AggregateError ? (thrown.errors[0] ?? thrown) : thrown).message;

/** Writes a message and waits for what is said of it. */
function acknowledged(socket: Socket, message: Buffer, chunk: string, signal: AbortSignal): Promise<void> {
  let answered = Buffer.alloc(0);
  return settled(socket, signal, (resolve, reject) => {
    const read = (bytes: Buffer): void => {
      answered = Buffer.concat([answered, bytes]);
      const answer = readAnswer(answered);
      if (answer === 'incomplete' && answered.length <= MAX_ANSWER_BYTES) return;
      socket.off('data', read);
      if (typeof answer === 'object' && answer.ack === chunk) resolve();
      else reject(new MeshError('unavailable', 'the server answers something that is not the acknowledgement'));
    };
    socket.on('data', read);
    socket.write(message);
  });
}

/** Resolves when `begin` says so, unless the connection fails or ends before, or there is no more time. */
function settled(
  socket: Socket,
  signal: AbortSignal,
  begin: (resolve: () => void, reject: (error: MeshError) => void) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => finish(() => reject(error));
    const closed = (): void => fail(new MeshError('unavailable', 'the server has closed the connection'));
    const aborted = (): void => {
      socket.destroy();
      fail(new MeshError('unavailable', 'the server is not heard of in time'));
    };
    const finish = (then: () => void): void => {
      socket.off('error', fail).off('end', closed).off('close', closed);
      signal.removeEventListener('abort', aborted);
      then();
    };
    socket.on('error', fail).on('end', closed).on('close', closed);
    signal.addEventListener('abort', aborted, { once: true });
    if (signal.aborted) aborted();
    else if (socket.destroyed) closed();
    else begin(() => finish(resolve), fail);
  });
}
