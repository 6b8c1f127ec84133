import { readFile } from 'node:fs/promises';
import { type ChannelTls, GrpcChannel } from '../../io/grpc/channel.ts';
import { type Duration, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { Redacted } from '../../lib/redacted.ts';
import type { GrpcAdapterParams, GrpcAdapterTls } from '../../rules/adapter/grpcadapter.ts';
import type { AdapterMethod } from './grpc-methods.ts';

/** Answers are a few fields. */
const MAX_ANSWER_BYTES = 64 * 1024;
const LONGEST_RECONNECT = seconds(2);

export interface CallBounds {
  readonly deadline: Duration;
  readonly signal: AbortSignal;
}

/** The connection to an adapter. It is made when it is needed, and anew when it was given up or when its certificates are others now. */
export class AdapterConnection {
  readonly #address: string;
  readonly #tls: GrpcAdapterTls | undefined;
  #channel: Promise<GrpcChannel> | undefined;
  /** What the files had in them when the channel was opened. */
  #read: ChannelTls | undefined;
  #closed = false;

  constructor({ address, tls }: Pick<GrpcAdapterParams, 'address' | 'tls'>) {
    this.#address = address;
    this.#tls = tls;
  }

  /** Rejects with a MeshError; see GrpcChannel. */
  async call<Req, Res>(method: AdapterMethod<Req, Res>, request: Req, bounds: CallBounds): Promise<Res> {
    const channel = await this.#current();
    return await channel.call({ ...method, request, ...bounds });
  }

  /** Takes up certificates that were replaced. Throws a MeshError `unavailable` for files that cannot be read. */
  async refresh(): Promise<void> {
    if (this.#tls === undefined || this.#channel === undefined) return;
    const before = this.#read;
    if (!isSame(before, await readTls(this.#tls)) && this.#read === before) this.giveUp();
  }

  /** Calls that run go on, later ones use a new connection: on one that answers nothing nobody may be left at the other end. */
  giveUp(): void {
    const channel = this.#channel;
    this.#channel = undefined;
    void channel?.then(
      (open) => open.close(),
      () => {},
    );
  }

  close(): void {
    this.#closed = true;
    this.giveUp();
  }

  #current(): Promise<GrpcChannel> {
    if (this.#closed) return Promise.reject(new MeshError('cancelled', 'the handler is closed'));
    if (this.#channel !== undefined) return this.#channel;
    const opening = this.#open();
    this.#channel = opening;
    opening.catch(() => {
      if (this.#channel === opening) this.#channel = undefined;
    });
    return opening;
  }

  async #open(): Promise<GrpcChannel> {
    const tls = this.#tls === undefined ? undefined : await readTls(this.#tls);
    this.#read = tls;
    return await GrpcChannel.open({
      address: this.#address,
      ...(tls === undefined ? {} : { tls }),
      maxAnswerBytes: MAX_ANSWER_BYTES,
      longestReconnect: LONGEST_RECONNECT,
    });
  }
}

async function readTls({ caCertificates, client, serverName }: GrpcAdapterTls): Promise<ChannelTls> {
  const [rootPem, chainPem, keyPem] = await Promise.all(
    [caCertificates, client?.certificate, client?.privateKey].map((path) => (path === undefined ? undefined : readPem(path))),
  );
  return {
    rootPem,
    ...(serverName === undefined ? {} : { serverName }),
    ...(chainPem === undefined || keyPem === undefined ? {} : { identity: { chainPem, keyPem: new Redacted(keyPem) } }),
  };
}

async function readPem(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    throw new MeshError('unavailable', `"${path}" cannot be read: ${MeshError.from(thrown).message}`, thrown);
  }
}

function isSame(a: ChannelTls | undefined, b: ChannelTls): boolean {
  return (
    a?.rootPem === b.rootPem &&
    a?.identity?.chainPem === b.identity?.chainPem &&
    a?.identity?.keyPem.reveal() === b.identity?.keyPem.reveal()
  );
}
