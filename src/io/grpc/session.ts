/** Looks after one HTTP/2 connection: finds dead peers, and drops those that flood it. */
import { constants, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { Logger } from '../log/logger.ts';
import type { ControlFrameLimit } from './limits.ts';

export interface Keepalive {
  /** How often a ping is sent. */
  readonly interval: Duration;
  /** How long its answer, a TLS handshake, or the client's first SETTINGS may take. */
  readonly timeout: Duration;
}

/** How long a client may take to read why it is dropped. */
const LAST_WORDS_MS = 500;

/** `socket` is the session's own: Node waits for a client to read what was written before it closes it, however long that takes. */
export function watchSession(
  session: ServerHttp2Session,
  socket: Socket,
  keepalive: Keepalive,
  controlFrames: ControlFrameLimit,
  logger: Logger,
): void {
  const drop = (reason: string, code?: number) => {
    logger.debug('a connection was dropped', { reason });
    if (code === undefined) {
      session.destroy();
      socket.destroy();
      return;
    }
    // Node takes the code only beside an error.
    session.destroy(new MeshError('resource_exhausted', reason), code);
    setTimeout(() => socket.destroy(), LAST_WORDS_MS).unref();
  };
  session.on('error', (error) => logger.debug('a connection failed', { error: error.message }));
  const timers = [pingRegularly(session, socket, keepalive, drop), expectSettings(session, keepalive, drop)];
  limitControlFrames(session, controlFrames, drop);
  session.once('close', () => {
    for (const timer of timers) clearTimeout(timer);
  });
}

type Drop = (reason: string, code?: number) => void;

function pingRegularly(session: ServerHttp2Session, socket: Socket, keepalive: Keepalive, drop: Drop): NodeJS.Timeout {
  let answerDue: NodeJS.Timeout | undefined;
  session.once('close', () => clearTimeout(answerDue));
  const timer = setInterval(() => {
    // Node ended the session for a breach of the protocol, and its client does not read that.
    if (session.destroyed) socket.destroy();
    if (answerDue !== undefined || session.destroyed) return;
    answerDue = setTimeout(() => drop('no answer to a keepalive ping'), keepalive.timeout).unref();
    session.ping(() => {
      clearTimeout(answerDue);
      answerDue = undefined;
    });
  }, keepalive.interval);
  return timer.unref();
}

function expectSettings(session: ServerHttp2Session, keepalive: Keepalive, drop: Drop): NodeJS.Timeout {
  const timer = setTimeout(() => drop('no HTTP/2 settings from the client'), keepalive.timeout).unref();
  session.once('remoteSettings', () => clearTimeout(timer));
  return timer;
}

function limitControlFrames(session: ServerHttp2Session, limit: ControlFrameLimit, drop: Drop): void {
  const count = () => {
    if (limit.exceeded()) drop('too many pings or settings', constants.NGHTTP2_ENHANCE_YOUR_CALM);
  };
  session.on('ping', count);
  session.on('remoteSettings', count);
}
