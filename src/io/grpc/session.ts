/** Looks after one HTTP/2 connection: finds dead peers, and drops those that flood it. */
import { constants, type ServerHttp2Session } from 'node:http2';
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

export function watchSession(
  session: ServerHttp2Session,
  keepalive: Keepalive,
  controlFrames: ControlFrameLimit,
  logger: Logger,
): void {
  const drop = (reason: string, code?: number) => {
    logger.debug('a connection was dropped', { reason });
    // Node takes the code only beside an error.
    if (code === undefined) session.destroy();
    else session.destroy(new MeshError('resource_exhausted', reason), code);
  };
  session.on('error', (error) => logger.debug('a connection failed', { error: error.message }));
  const timers = [pingRegularly(session, keepalive, drop), expectSettings(session, keepalive, drop)];
  limitControlFrames(session, controlFrames, drop);
  session.once('close', () => {
    for (const timer of timers) clearTimeout(timer);
  });
}

type Drop = (reason: string, code?: number) => void;

function pingRegularly(session: ServerHttp2Session, keepalive: Keepalive, drop: Drop): NodeJS.Timeout {
  let answerDue: NodeJS.Timeout | undefined;
  session.once('close', () => clearTimeout(answerDue));
  const timer = setInterval(() => {
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
