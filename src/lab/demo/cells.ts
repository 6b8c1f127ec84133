import { answered, isOneOf, type Outcome } from './outcome.ts';
import type { Rule, Step } from './steps.ts';
import { TOKENS, type Token } from './tokens.ts';
import { CLIENT, hasSidecar, NAMESPACES, type Namespace, TARGETS, type Target } from './topology.ts';

/** One call of a step. */
export interface Call {
  readonly client: Namespace;
  readonly target: Target;
  readonly token: Token;
}

export interface ExpectedCell extends Call {
  /** Any of them is right. */
  readonly expected: readonly Outcome[];
}

/** What one call came to. */
export interface CallResult {
  readonly outcome: Outcome;
  /** X-Forwarded-Client-Cert as the server got it; undefined when it got none, or did not answer. */
  readonly peerCertificate: string | undefined;
}

export interface Cell extends ExpectedCell {
  readonly got: Outcome;
  /** SPIFFE URI of the client's certificate that the server's proxy verified. */
  readonly peer: string | undefined;
  /** What is wrong, for people; empty when all is as specified. */
  readonly problems: readonly string[];
}

/** Every call of a step: all pairs of namespaces, all ports, and every token where the step tries them. */
export function expectedCells({ rules, tokensFor }: Step): readonly ExpectedCell[] {
  return TARGETS.flatMap((target) => {
    const tried = tokensFor?.namespace === target.namespace && tokensFor.service === target.service;
    const tokens: readonly Token[] = tried ? TOKENS : ['none'];
    return tokens.flatMap((token) =>
      NAMESPACES.map((client) => {
        const call = { client, target, token };
        return { ...call, expected: rules.findLast((rule) => isAbout(rule, call))?.outcomes ?? [answered(200)] };
      }),
    );
  });
}

function isAbout(rule: Rule, { client, target, token }: Call): boolean {
  return (
    rule.namespace === target.namespace &&
    (rule.from === undefined || rule.from.includes(client)) &&
    (rule.service === undefined || rule.service === target.service) &&
    (rule.port === undefined || rule.port === target.port) &&
    (rule.tokens === undefined || rule.tokens.includes(token))
  );
}

/** Compares one call with what is specified, the identity that the server saw included. */
export function judge(cell: ExpectedCell, { outcome, peerCertificate }: CallResult): Cell {
  const peer = peerCertificate === undefined ? undefined : /(?:^|;)URI=([^;,]+)/.exec(peerCertificate)?.[1];
  const problems: string[] = [];
  if (!isOneOf(outcome, cell.expected)) problems.push('not the expected outcome');
  // A proxy that refuses a call answers itself: the server, which would tell, has seen nothing.
  if (outcome.status === 200) {
    const wanted =
      hasSidecar(cell.client) && hasSidecar(cell.target.namespace)
        ? `spiffe://cluster.local/ns/${cell.client}/sa/${CLIENT}`
        : undefined;
    if (peer !== wanted) problems.push(`the server saw the peer ${peer ?? 'none'} instead of ${wanted ?? 'none'}`);
    if (wanted === undefined && peerCertificate !== undefined && peer === undefined)
      problems.push('the server saw a peer certificate');
  }
  return { ...cell, got: outcome, peer, problems };
}
