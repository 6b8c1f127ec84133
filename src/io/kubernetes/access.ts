/** How an API server is reached, and as whom: what a kubeconfig or the pod's own files say, after all checks. */
import type { Redacted } from '../../lib/redacted.ts';

/** Text that stands in the configuration, or in a file that may change while we run. */
export type Material = { readonly type: 'inline'; readonly text: Redacted } | { readonly type: 'file'; readonly path: string };

export interface Access {
  readonly server: ServerAccess;
  readonly user: UserAccess;
}

export interface ServerAccess {
  /** `https://host:port` with the path that everything is below of, if any; no slash at the end. */
  readonly url: string;
  /** PEM certificates that the server is trusted by; absent: the system's. */
  readonly authority?: Material;
  /** Believes any server. Only where the configuration says so itself. */
  readonly insecure: boolean;
  /** The name that the server's certificate must have, where it is not the address's. */
  readonly serverName?: string;
  /** `http://host:port` of a proxy; absent: what the environment says (HTTPS_PROXY, NO_PROXY). */
  readonly proxy?: string;
}

export interface UserAccess {
  /** The user's name in the configuration, for messages. */
  readonly name: string;
  readonly certificate?: { readonly chain: Material; readonly key: Material };
  readonly authorization?: Authorization;
  /** Whom the user acts for, as headers. */
  readonly impersonate: Readonly<Record<string, string | string[]>>;
}

export type Authorization =
  | { readonly type: 'token'; readonly token: Material }
  | { readonly type: 'basic'; readonly username: string; readonly password: Redacted }
  | { readonly type: 'exec'; readonly exec: ExecPlugin };

/** A program that prints credentials (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins). */
export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint?: string;
  /** The cluster as the program is told of it, where the configuration wants that. */
  readonly cluster?: Readonly<Record<string, unknown>>;
}
