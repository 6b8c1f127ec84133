/** One process of pilot-discovery, and the way to its pages. */
export interface DiscoveryReplica {
  /** The name of its pod, or its address. */
  readonly name: string;
  /**
   * The JSON of a page, such as `/debug/syncz`. Rejects with a MeshError that says who could not be asked, and why: `unavailable`,
   * `deadline_exceeded`, `permission_denied`, `not_found`.
   */
  get(path: string, query?: Readonly<Record<string, string>>): Promise<unknown>;
}

/** Why a page is refused where `controlPlaneAuthPolicy` is `MUTUAL_TLS`, and what helps. */
export const NEEDS_CERTIFICATE =
  'it asks for a certificate (controlPlaneAuthPolicy: MUTUAL_TLS) of all but its own pod; ask it from there';
