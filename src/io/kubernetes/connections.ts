/** The connections to one API server: kept open between requests, made anew when a certificate changes. */
import { hash } from 'node:crypto';
import { type AgentOptions, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { type Duration, seconds } from '../../lib/duration.ts';
import type { Redacted } from '../../lib/redacted.ts';
import type { ServerAccess } from './access.ts';
import { FollowedText } from './followed-text.ts';

/** Requests at once; more of them wait. Watches have connections of their own. */
const MAX_REQUESTS = 32;
/** API servers close idle connections after 90 s; a request must not meet a closing one. */
const IDLE: Duration = seconds(45);
/** A peer that is gone without a word is noticed after this and ten probes a second apart. */
const KEEPALIVE: Duration = seconds(30);

export interface Agents {
  readonly requests: HttpAgent;
  readonly watches: HttpAgent;
}

interface Identity {
  readonly chain: Redacted;
  readonly key: Redacted;
}

export class Connections {
  readonly #server: ServerAccess;
  readonly #proxyEnv: NonNullable<AgentOptions['proxyEnv']>;
  readonly #authority: FollowedText | undefined;
  #current: { readonly fingerprint: string; readonly agents: Agents } | undefined;

  constructor(server: ServerAccess, env: Readonly<Record<string, string | undefined>>, now: () => Date) {
    this.#server = server;
    this.#proxyEnv = server.proxy === undefined ? fromEnvironment(env) : { HTTP_PROXY: server.proxy, HTTPS_PROXY: server.proxy };
    this.#authority = server.authority === undefined ? undefined : new FollowedText(server.authority, now);
  }

  async agents(identity: Identity | undefined): Promise<Agents> {
    const authority = await this.#authority?.read();
    const fingerprint = fingerprintOf([authority, identity?.chain, identity?.key]);
    if (this.#current?.fingerprint !== fingerprint) {
      const agents = this.#create(authority, identity);
      // What runs on the connections of before ends by itself: requests soon, watches within minutes.
      closeIdle(this.#current?.agents);
      this.#current = { fingerprint, agents };
    }
    return this.#current.agents;
  }

  close(): void {
    const agents = this.#current?.agents;
    agents?.requests.destroy();
    agents?.watches.destroy();
    this.#current = undefined;
  }

  #create(authority: Redacted | undefined, identity: Identity | undefined): Agents {
    const common = { proxyEnv: this.#proxyEnv, keepAliveMsecs: KEEPALIVE };
    const requests = { ...common, keepAlive: true, maxSockets: MAX_REQUESTS, timeout: IDLE };
    const watches = { ...common, keepAlive: false };
    if (this.#server.url.startsWith('http:')) return { requests: new HttpAgent(requests), watches: new HttpAgent(watches) };
    const tls = {
      minVersion: 'TLSv1.2',
      rejectUnauthorized: !this.#server.insecure,
      ...(authority === undefined ? {} : { ca: authority.reveal() }),
      ...(identity === undefined ? {} : { cert: identity.chain.reveal(), key: identity.key.reveal() }),
      ...(this.#server.serverName === undefined ? {} : { servername: this.#server.serverName }),
    } as const;
    return { requests: new HttpsAgent({ ...requests, ...tls }), watches: new HttpsAgent({ ...watches, ...tls }) };
  }
}

/** Only what concerns a proxy; the agent reads these names in both spellings. */
function fromEnvironment(env: Readonly<Record<string, string | undefined>>): NonNullable<AgentOptions['proxyEnv']> {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
  return Object.fromEntries(names.map((name) => [name, env[name]] as const).filter(([, value]) => value !== undefined));
}

function closeIdle(agents: Agents | undefined): void {
  for (const sockets of Object.values(agents?.requests.freeSockets ?? {})) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}

function fingerprintOf(parts: readonly (Redacted | undefined)[]): string {
  return hash('sha256', JSON.stringify(parts.map((part) => part?.reveal() ?? '')));
}
