import type { Socket } from 'node:net';
import { type Caller, connectTo, type Listener, type Target } from './connection.ts';

const OK = 'HTTP/1.1 200 ';
const END_OF_HEAD = '\r\n\r\n';

/** Requests with a body over one kept HTTP/1.1 connection, one after the other; every answer must be a 200 that tells its length. */
export class Http1Connection implements Caller {
  readonly #socket: Socket;
  readonly #head: string;
  readonly #listener: Listener;
  #begin: number | undefined;
  #rest: Buffer = Buffer.alloc(0);

  constructor(target: Target, listener: Listener) {
    const fields = [['host', target.tls?.name ?? '127.0.0.1'], ...target.fields];
    this.#head = `POST ${target.path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}`;
    this.#listener = listener;
    this.#socket = connectTo(target, 'http/1.1');
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#socket.on('error', (error) => listener.failed(error.message));
    this.#socket.on('close', () => {
      if (this.#begin !== undefined) listener.failed('the connection was closed');
    });
  }

  get isFree(): boolean {
    return this.#begin === undefined;
  }

  send(message: Uint8Array, begin: number): void {
    this.#begin = begin;
    this.#socket.write(Buffer.concat([Buffer.from(`${this.#head}content-length: ${message.length}${END_OF_HEAD}`), message]));
  }

  close(): void {
    this.#begin = undefined;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = this.#rest.indexOf(END_OF_HEAD);
    if (end === -1) return;
    const head = this.#rest.toString('latin1', 0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    if (!head.startsWith(OK) || Number.isNaN(length)) this.#listener.failed(`an answer is no 200 with a length: ${head}`);
    if (this.#rest.length < end + END_OF_HEAD.length + length) return;
    const begin = this.#begin;
    this.#rest = Buffer.alloc(0);
    this.#begin = undefined;
    if (begin !== undefined) this.#listener.answered(begin);
  }
}
