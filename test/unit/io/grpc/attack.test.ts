/** Frames that no honest client sends: each costs its sender the connection at most, and nobody else anything. */
import { expect } from 'chai';
import type { GrpcServer } from '../../../../src/io/grpc/types.ts';
import { milliseconds } from '../../../../src/lib/duration.ts';
import { CHAT, EchoService, EXPAND, HANG, METADATA, UNARY } from '../../../harness/echo-service.ts';
import {
  Flag,
  Frame,
  frame,
  hpack,
  openFrame,
  PREFACE,
  pingFrame,
  RawConnection,
  type ReceivedFrame,
  requestFields,
  resetFrame,
  uint32,
} from '../../../harness/http2-frames.ts';
import { Bench, FAST_KEEPALIVE, framed, raw } from './peers.ts';

const REFUSED_STREAM = 7;
const COMPRESSION_ERROR = 9;
const ENHANCE_YOUR_CALM = 11;
const FLOOD = 100_000;
const BATCH = 200;
/** What the kernel takes of 16 kB each, and the calls that then wait, with much to spare. */
const UNREAD_ANSWERS = 5_000;

/** The client's n-th stream. */
const id = (n: number): number => 2 * n + 1;
const settingsFrame = (flags = 0): Buffer => frame(Frame.SETTINGS, flags, 0);
const dataFrame = (stream: number, payload: Uint8Array = Buffer.alloc(0), flags = 0): Buffer =>
  frame(Frame.DATA, flags, stream, payload);
const windowFrame = (stream: number, more: number): Buffer => frame(Frame.WINDOW_UPDATE, Flag.NONE, stream, uint32(more));
const fieldFrame = (stream: number, fields: readonly (readonly [string, string])[]): Buffer =>
  frame(Frame.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, stream, hpack(fields));
const isSettings = ({ type, flags }: ReceivedFrame): boolean => type === Frame.SETTINGS && flags === Flag.NONE;
const isPingAnswer = ({ type, flags }: ReceivedFrame): boolean => type === Frame.PING && flags === Flag.ACK;
const isReset = ({ type }: ReceivedFrame): boolean => type === Frame.RST_STREAM;

/** A header block over as many frames as it needs. */
function longHeaders(stream: number, fields: readonly (readonly [string, string])[]): Buffer {
  const block = hpack(fields);
  const frames: Buffer[] = [];
  for (let at = 0; at < block.length; at += 16_384) {
    const flags = at + 16_384 >= block.length ? Flag.END_HEADERS : Flag.NONE;
    frames.push(frame(at === 0 ? Frame.HEADERS : Frame.CONTINUATION, flags, stream, block.subarray(at, at + 16_384)));
  }
  return Buffer.concat(frames);
}

/** Name, what is sent first, and what is sent again and again. */
const FLOODS: readonly (readonly [string, Buffer, (n: number) => Buffer])[] = [
  ['pings', Buffer.alloc(0), () => pingFrame()],
  ['answers to pings that nobody sent', Buffer.alloc(0), () => pingFrame(Flag.ACK)],
  ['settings', Buffer.alloc(0), () => settingsFrame()],
  ['acknowledgements of settings', Buffer.alloc(0), () => settingsFrame(Flag.ACK)],
  ['priorities', Buffer.alloc(0), (n) => frame(Frame.PRIORITY, Flag.NONE, id(n), Buffer.from([0, 0, 0, 0, 1]))],
  ['frames of an unknown type', Buffer.alloc(0), () => frame(0x20, Flag.NONE, 0)],
  ['window updates of nothing', Buffer.alloc(0), () => windowFrame(0, 0)],
  ['data frames without data', openFrame(1, HANG), () => dataFrame(1)],
  [
    'continued headers',
    frame(Frame.HEADERS, Flag.NONE, 1, hpack(requestFields(UNARY))),
    () => frame(Frame.CONTINUATION, Flag.NONE, 1),
  ],
  ['forbidden header fields', Buffer.alloc(0), (n) => fieldFrame(id(n), [...requestFields(UNARY), ['Capital', 'x']])],
  ['calls that are reset at once', Buffer.alloc(0), (n) => Buffer.concat([openFrame(id(n), HANG), resetFrame(id(n))])],
  [
    'calls that make the server reset them, by a window update of nothing',
    Buffer.alloc(0),
    (n) => Buffer.concat([openFrame(id(n), HANG), windowFrame(id(n), 0)]),
  ],
  [
    'calls that make the server reset them, by too great a window',
    Buffer.alloc(0),
    (n) => Buffer.concat([openFrame(id(n), HANG), windowFrame(id(n), 0x7fffffff)]),
  ],
  [
    'calls that make the server reset them, by data behind their end',
    Buffer.alloc(0),
    (n) => Buffer.concat([openFrame(id(n), HANG), dataFrame(id(n), Buffer.alloc(0), Flag.END_STREAM), dataFrame(id(n))]),
  ],
  ['calls over the limit', Buffer.alloc(0), (n) => openFrame(id(n), HANG)],
];

/** Name, what is sent, and the code that the connection ends with. */
const BREACHES: readonly (readonly [string, Buffer, number])[] = [
  ['compressed headers that are none', frame(Frame.HEADERS, Flag.END_HEADERS, 1, Buffer.alloc(8, 0xff)), COMPRESSION_ERROR],
  ['a frame over the maximum size', Buffer.concat([openFrame(1, UNARY), Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1])]), 6],
  ['data on the connection itself', dataFrame(0, Buffer.alloc(1)), 1],
  ['a call with an even number', openFrame(2, UNARY), 1],
];

describe('gRPC server under attack', () => {
  const bench = new Bench();
  let service: EchoService;
  let server: GrpcServer;

  beforeEach(async () => {
    service = new EchoService();
    server = await bench.serve({ methods: service.methods });
  });
  afterEach(() => bench.close());

  async function attacker(port = server.port, hello?: Buffer): Promise<RawConnection> {
    const connection = await RawConnection.open(port, hello);
    bench.later(() => connection.destroy());
    return connection;
  }

  /** Resolves when the server has seen everything that was sent. */
  async function roundTrip(connection: RawConnection): Promise<void> {
    const answers = () => connection.frames.filter(isPingAnswer).length;
    const before = answers();
    await connection.write(pingFrame());
    await connection.first(() => answers() > before);
  }

  async function flood(connection: RawConnection, first: Buffer, frames: (n: number) => Buffer): Promise<void> {
    await connection.write(first);
    for (let sent = 0; sent < FLOOD && !connection.closed; sent += BATCH) {
      await connection.write(...Array.from({ length: BATCH }, (_, n) => frames(sent + n)));
    }
  }

  for (const [name, first, frames] of FLOODS) {
    it(`drops who floods it with ${name}, frees what that took, and serves others meanwhile`, async () => {
      const innocent = bench.http2(server);
      expect((await raw(innocent, { ':path': UNARY }, framed('before'))).body).to.deep.equal(framed('before'));
      const connection = await attacker();
      const attack = flood(connection, first, frames);
      expect((await raw(innocent, { ':path': UNARY }, framed('during'))).body).to.deep.equal(framed('during'));
      await attack;
      await connection.ended();
      await service.until(() => service.hanging === 0);
      expect((await raw(innocent, { ':path': UNARY }, framed('after'))).body).to.deep.equal(framed('after'));
    }).timeout(120_000);
  }

  for (const [name, bytes, code] of BREACHES) {
    it(`ends a connection that sends ${name}`, async () => {
      const connection = await attacker();
      await connection.write(bytes);
      await connection.ended();
      expect(connection.goaway).to.equal(code);
    });
  }

  it('answers pings, and tells who sends too many to calm down', async () => {
    const connection = await attacker();
    await connection.write(pingFrame());
    const answer = await connection.first(({ type }) => type === Frame.PING);
    expect(answer?.flags).to.equal(Flag.ACK);
    await connection.write(...Array.from({ length: 250 }, () => pingFrame()));
    await connection.ended();
    expect(connection.goaway).to.equal(ENHANCE_YOUR_CALM);
  });

  it('refuses calls over maxConcurrentStreams, for a client to try again that does not know our settings yet', async () => {
    const small = await bench.serve({ methods: service.methods, maxConcurrentStreams: 10 });
    const connection = await attacker(small.port);
    const calls = Array.from({ length: 12 }, (_, n) => openFrame(id(n), HANG));
    await connection.write(...calls);
    await connection.first((received) => isReset(received) && received.stream === id(11));
    expect(connection.frames.filter(isReset).map(({ stream, payload }) => [stream, payload.readUInt32BE()])).to.deep.equal([
      [id(10), REFUSED_STREAM],
      [id(11), REFUSED_STREAM],
    ]);
    await service.until(() => service.hanging === 10);
  });

  it('drops a client that opens too many calls though it knows better', async () => {
    const small = await bench.serve({ methods: service.methods, maxConcurrentStreams: 10 });
    const connection = await attacker(small.port);
    await connection.first(isSettings);
    await connection.write(settingsFrame(Flag.ACK), ...Array.from({ length: 12 }, (_, n) => openFrame(id(n), HANG)));
    await connection.ended();
    await service.until(() => service.hanging === 0);
  });

  for (const confirms of [true, false]) {
    it(`runs no call of too many or too long header fields, whether its client confirms our settings or not: ${confirms}`, async () => {
      for (const fields of [
        Array.from({ length: 200 }, (_, n) => [`x-${n}`, 'x'] as const),
        Array.from({ length: 5 }, (_, n) => [`x-${n}`, 'x'.repeat(4_000)] as const),
      ]) {
        const connection = await attacker();
        await connection.first(isSettings);
        if (confirms) await connection.write(settingsFrame(Flag.ACK));
        await connection.write(longHeaders(1, [...requestFields(HANG), ...fields]));
        const answer = await connection.first(({ stream }) => stream === 1);
        expect(answer?.type === Frame.RST_STREAM || answer?.flags === (Flag.END_STREAM | Flag.END_HEADERS)).to.equal(true);
        expect(service.hanging).to.equal(0);
      }
    });
  }

  it('drops a connection that says nothing, half a preface, or headers without end', async () => {
    const hasty = await bench.serve({ methods: service.methods, keepalive: FAST_KEEPALIVE });
    const unfinished = frame(Frame.HEADERS, Flag.NONE, 1, hpack(requestFields(HANG)));
    const openings = [Buffer.alloc(0), PREFACE.subarray(0, 10), PREFACE, Buffer.concat([PREFACE, settingsFrame(), unfinished])];
    const connections = await Promise.all(openings.map((opening) => attacker(hasty.port, opening)));
    await Promise.all(connections.map((connection) => connection.ended()));
  });

  it('ends a call whose message never becomes whole at its deadline', async () => {
    const connection = await attacker();
    await connection.write(openFrame(1, UNARY, { 'grpc-timeout': '30m' }), dataFrame(1, framed('hello').subarray(0, 7)));
    const answer = await connection.first(({ type, stream }) => type === Frame.HEADERS && stream === 1);
    expect(answer?.flags).to.equal(Flag.END_HEADERS | Flag.END_STREAM);
  });

  it('frees what a call took that is reset in the same packet, half a message in it', async () => {
    const connection = await attacker();
    for (const code of [0, 8]) {
      const start = code * 2;
      const half = framed('hello').subarray(0, 7);
      await connection.write(openFrame(id(start), HANG), dataFrame(id(start), half), resetFrame(id(start), code));
      await connection.write(openFrame(id(start + 1), HANG), dataFrame(id(start + 1), half));
      await service.until(() => service.hanging === 1);
      await connection.write(resetFrame(id(start + 1), code));
      await service.until(() => service.hanging === 0);
    }
  });

  it('bounds what the unfinished messages of a connection hold together, and gives it back', async () => {
    const small = await bench.serve({ methods: service.methods, maxMessageSize: 1_000 });
    const connection = await attacker(small.port);
    const unfinished = framed(Buffer.alloc(1_000)).subarray(0, 1_000);
    await connection.write(
      ...Array.from({ length: 17 }, (_, n) => Buffer.concat([openFrame(id(n), CHAT), dataFrame(id(n), unfinished)])),
    );
    const refused = await connection.first(({ type, flags }) => type === Frame.HEADERS && (flags & Flag.END_STREAM) !== 0);
    expect(refused?.stream).to.equal(id(16));
    await connection.write(resetFrame(id(0)));
    await roundTrip(connection);
    await connection.write(openFrame(id(17), CHAT), dataFrame(id(17), unfinished));
    await roundTrip(connection);
    await connection.write(dataFrame(id(17), Buffer.alloc(5)));
    const answered = await connection.first(({ type, stream }) => type === Frame.DATA && stream === id(17));
    expect(answered).to.not.equal(undefined);
  });

  it('holds a client back that sends more than it reads, by the window that it granted', async () => {
    const connection = await attacker();
    await connection.write(openFrame(1, HANG));
    await service.until(() => service.hanging === 1);
    await connection.write(...Array.from({ length: 17 }, () => dataFrame(1, Buffer.alloc(16_384))));
    await connection.first(({ type }) => type === Frame.RST_STREAM || type === Frame.GOAWAY);
    await service.until(() => service.hanging === 0);
  });

  it('holds little for a client that never reads, and nothing once it is gone', async () => {
    const connection = await attacker();
    connection.pause();
    const ask = JSON.stringify({ count: 1e9, size: 16_384 });
    await connection.write(windowFrame(0, 0x7fff0000 - 65_535));
    for (let n = 0; n < 20; n += 1) await connection.write(openFrame(id(n), EXPAND), dataFrame(id(n), framed(ask)));
    await service.until(() => service.expanding === 20 && service.expanded >= 20);
    const innocent = bench.http2(server);
    for (let n = 0; n < 20; n += 1) await raw(innocent, { ':path': UNARY }, framed('others'));
    // The client granted 64 KiB a call: four messages, and one each that waits.
    expect(service.expanded).to.be.at.most(20 * 5);
    connection.destroy();
    await service.until(() => service.expanding === 0);
  });

  it('takes no more calls from a client that does not read the answers, and then drops it', async () => {
    const keepalive = { interval: milliseconds(300), timeout: milliseconds(300) };
    const watchful = await bench.serve({ methods: service.methods, keepalive });
    const connection = await attacker(watchful.port);
    connection.pause();
    // Too long for the compression of headers, so that every answer takes its length twice.
    const field = { 'x-long': 'x'.repeat(8_000) };
    await flood(connection, Buffer.alloc(0), (n) =>
      Buffer.concat([openFrame(id(n), METADATA, field), dataFrame(id(n), framed(''), Flag.END_STREAM)]),
    );
    await connection.ended();
    expect(service.contexts.length).to.be.lessThan(UNREAD_ANSWERS);
  }).timeout(300_000);

  describe('while it closes', () => {
    it('announces the end, waits a round trip, and then refuses new calls while old ones run', async () => {
      const connection = await attacker();
      await connection.write(openFrame(1, HANG));
      await service.until(() => service.hanging === 1);
      const closed = server.close(100);
      const announced = await connection.first(({ type }) => type === Frame.GOAWAY);
      expect([announced?.payload.readUInt32BE(0), announced?.payload.readUInt32BE(4)]).to.deep.equal([2 ** 31 - 1, 0]);
      const ping = await connection.first(({ type, flags }) => type === Frame.PING && flags === 0);
      await connection.write(frame(Frame.PING, Flag.ACK, 0, ping?.payload));
      const final = await connection.first(({ type, payload }) => type === Frame.GOAWAY && payload.readUInt32BE(0) === 1);
      expect(final?.payload.readUInt32BE(4)).to.equal(0);
      await connection.write(openFrame(3, HANG), pingFrame());
      await connection.first(({ type, flags }) => type === Frame.PING && flags === Flag.ACK);
      expect(service.hanging).to.equal(1);
      await closed;
      await connection.ended();
      expect(
        connection.frames.some(({ type, stream, flags }) => type === Frame.HEADERS && stream === 1 && (flags & 1) !== 0),
      ).to.equal(true);
      expect(connection.frames.some(({ type, stream }) => type === Frame.HEADERS && stream === 3)).to.equal(false);
    });

    it('waits for nobody who neither reads nor answers', async () => {
      const connection = await attacker();
      connection.pause();
      await connection.write(openFrame(1, HANG));
      await service.until(() => service.hanging === 1);
      await server.close(10);
      expect(service.hanging).to.equal(0);
      connection.resume();
      await connection.ended();
    });
  });
});
