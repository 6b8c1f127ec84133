import { MeshError } from '../../lib/errors.ts';
import type { ClientTls } from './channel.ts';
import { type ChannelCall, GrpcChannel } from './channel.ts';
import type { Codec } from './types.ts';

export type { ClientTls } from './channel.ts';

export interface UnaryCall<Req, Res> extends ChannelCall<Req, Res> {
  /** `host:port` or `unix:/path`. */
  readonly address: string;
  readonly requestCodec: Codec<Req>;
  readonly responseCodec: Codec<Res>;
  /** Absent: plaintext. */
  readonly tls?: ClientTls;
}

/**
 * One call on a connection of its own, so that every call sees the roots and the identity of now. Rejects with a MeshError of
 * the code that the server's status maps to; `deadline_exceeded`, `unavailable` and `cancelled` come from here too.
 */
export async function unaryCall<Req, Res>(call: UnaryCall<Req, Res>): Promise<Res> {
  const { address, tls, signal } = call;
  if (signal.aborted) throw new MeshError('cancelled', `the call to ${address} was cancelled`);
  const channel = await GrpcChannel.open({ address, ...(tls === undefined ? {} : { tls }) });
  try {
    return await channel.call(call);
  } finally {
    channel.close();
  }
}
