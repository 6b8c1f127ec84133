/** Looks after one HTTP/2 connection: finds dead peers, and drops those that flood it. */
import { constants, type ServerHttp2Session } from 'node:http2';
import type { Duration } from '../../lib/duration.ts';
import type { Logger } from '../log/logger.ts';

export interface Keepalive {
  /** How often a ping is sent. */
  readonly interval: Duration;
  /** How long its answer, or the client's first SETTINGS, may take. */
  readonly timeout: Duration;
}

/** Pings and settings that a client may send in ten seconds; each costs us an answer. */
const CONTROL_FRAMES_PER_WINDOW = 200;
const WINDOW_MS = 10_000;

export function watchSession(session: ServerHttp2Session, keepalive: Keepalive, logger: Logger): void {
  const drop = (reason: string, code: number = constants.NGHTTP2_NO_ERROR) => {
    logger.debug('a connection was dropped', { reason });
    session.destroy(undefined, code);
  };
  session.on('error', (error) => logger.debug('a connection failed', { error: error.message }));
  const timers = [pingRegularly(session, keepalive, drop), expectSettings(session, keepalive, drop)];
  limitControlFrames(session, drop);
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

function limitControlFrames(session: ServerHttp2Session, drop: Drop): void {
  let windowEnds = 0;
  let left = CONTROL_FRAMES_PER_WINDOW;
  const count = () => {
    const now = performance.now();
    if (now > windowEnds) {
      windowEnds = now + WINDOW_MS;
      left = CONTROL_FRAMES_PER_WINDOW;
    }
    left -= 1;
    if (left < 0) drop('too many pings or settings', constants.NGHTTP2_ENHANCE_YOUR_CALM);
  };
  session.on('ping', count);
  session.on('remoteSettings', count);
}
