import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { Redacted } from '../../lib/redacted.ts';
import type { UserAccess } from './access.ts';
import { type ExecCredential, runExecPlugin } from './exec-plugin.ts';
import { FollowedText } from './followed-text.ts';

/** What a request is made with. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** For the TLS connection. */
  readonly certificate?: { readonly chain: Redacted; readonly key: Redacted };
  /** The server did not accept them: what was kept is got anew next time. Tells whether that can make a difference. */
  refused(): boolean;
}

/** Makes the credentials of one user, again and again as they change and expire. */
export interface Authenticator {
  /** Rejects with `unauthenticated` or `failed_precondition` while there are none. */
  credentials(): Promise<Credentials>;
}

export interface AuthenticatorDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** How long a plugin may take. Default: 60 s. */
  readonly pluginLimit?: Duration;
}

export function createAuthenticator(user: UserAccess, deps: AuthenticatorDeps): Authenticator {
  const { authorization, certificate: given, impersonate } = user;
  const chain = given === undefined ? undefined : new FollowedText(given.chain, deps.now);
  const key = given === undefined ? undefined : new FollowedText(given.key, deps.now);
  const token = authorization?.type === 'token' ? new FollowedText(authorization.token, deps.now) : undefined;
  const files = [chain, key, token].filter((text) => text?.isFile === true);
  const plugin =
    authorization?.type === 'exec'
      ? new PluginCredential(() => runExecPlugin(authorization.exec, deps.env, deps.pluginLimit), deps.now)
      : undefined;

  async function certificate(): Promise<Credentials['certificate']> {
    if (chain === undefined || key === undefined) return undefined;
    return { chain: await chain.read(), key: await key.read() };
  }

  async function bearer(fromPlugin: ExecCredential | undefined): Promise<Readonly<Record<string, string>>> {
    if (authorization?.type === 'basic') return { authorization: basic(authorization.username, authorization.password) };
    const found = token === undefined ? fromPlugin?.token : await token.read();
    return found === undefined ? {} : { authorization: `Bearer ${headerSafe(found.reveal(), user.name)}` };
  }

  function refused(fromPlugin: ExecCredential | undefined): boolean {
    for (const text of files) text?.forget();
    if (fromPlugin !== undefined) plugin?.forget(fromPlugin);
    return fromPlugin !== undefined || files.length > 0;
  }

  return {
    async credentials() {
      const fromPlugin = await plugin?.get();
      const forTls = fromPlugin?.certificate ?? (await certificate());
      const headers = { ...impersonate, ...(await bearer(fromPlugin)) };
      const rest = { headers, refused: () => refused(fromPlugin) };
      return forTls === undefined ? rest : { ...rest, certificate: forTls };
    },
  };
}

/** What a plugin printed, until it expires; one run serves all who wait for it. */
class PluginCredential {
  readonly #run: () => Promise<ExecCredential>;
  readonly #now: () => Date;
  #current: Promise<ExecCredential> | undefined;
  /** What `#current` has come to; `undefined` while a run goes on. */
  #printed: ExecCredential | undefined;

  constructor(run: () => Promise<ExecCredential>, now: () => Date) {
    this.#run = run;
    this.#now = now;
  }

  async get(): Promise<ExecCredential> {
    const held = this.#current;
    if (held !== undefined) {
      const credential = await held;
      if (credential.expiresAt === undefined || credential.expiresAt > this.#now().getTime()) return credential;
      if (this.#current === held) this.#drop();
    }
    this.#current ??= this.#start();
    return this.#current;
  }

  /** Several requests may have been refused with the same credential; the first of them makes the difference. */
  forget(refused: ExecCredential): void {
    if (this.#printed === refused) this.#drop();
  }

  #drop(): void {
    this.#current = undefined;
    this.#printed = undefined;
  }

  #start(): Promise<ExecCredential> {
    this.#printed = undefined;
    const running = this.#run();
    running.then(
      (credential) => {
        this.#printed = credential;
      },
      // A failure is told to all who wait for it, and forgotten, so that the next one tries again.
      () => this.#drop(),
    );
    return running;
  }
}

function basic(username: string, password: Redacted): string {
  return `Basic ${Buffer.from(`${username}:${password.reveal()}`).toString('base64')}`;
}

/** A line break in a token would end the header. */
function headerSafe(token: string, user: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new MeshError('unauthenticated', `the token of user "${user}" has characters that no token has`);
}
