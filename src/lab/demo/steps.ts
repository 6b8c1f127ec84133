import { answered, type Outcome, RESET } from './outcome.ts';
import { TOKENS, type Token } from './tokens.ts';
import type { Namespace, Service } from './topology.ts';

/** A change of policy, as a user makes it with meshctl; files are in examples/reference/policies. */
export type Change =
  | { readonly type: 'apply'; readonly file: string }
  | { readonly type: 'delete'; readonly namespace: string; readonly name: string };

/** What some of the calls must come to; a property that is left out means any. */
export interface Rule {
  readonly from?: readonly Namespace[];
  readonly namespace: Namespace;
  readonly service?: Service;
  readonly port?: number;
  readonly tokens?: readonly Token[];
  /** Any of them is right. */
  readonly outcomes: readonly Outcome[];
}

export interface Step {
  /** As the reference scenario numbers it. */
  readonly name: string;
  readonly title: string;
  readonly changes: readonly Change[];
  /** Calls that no rule is about are answered 200; of several rules the last one counts. */
  readonly rules: readonly Rule[];
  /** The service whose calls are tried with every kind of token; the others get none. */
  readonly tokensFor?: { readonly namespace: Namespace; readonly service: Service };
}

const HTTPBIN_FOO = { namespace: 'foo', service: 'httpbin' } as const;
const BAD_TOKENS = TOKENS.filter((token) => token !== 'none' && token !== 'valid' && token !== 'audience');

const resetFromLegacy = (to: Omit<Rule, 'from' | 'outcomes'>): Rule => ({ from: ['legacy'], outcomes: [RESET], ...to });

const FOO_MTLS = resetFromLegacy({ namespace: 'foo' });
/** The service's own policy outranks its namespace's. */
const HTTPBIN_FOO_OPEN: Rule = { ...HTTPBIN_FOO, outcomes: [answered(200)] };
const BAR_PORT_MTLS = resetFromLegacy({ namespace: 'bar', service: 'httpbin', port: 1234 });
const HTTPBIN_FOO_JWT: readonly Rule[] = [
  { ...HTTPBIN_FOO, tokens: ['none', ...BAD_TOKENS], outcomes: [answered(401)] },
  { ...HTTPBIN_FOO, tokens: ['audience'], outcomes: [answered(401), answered(403)] },
  { ...HTTPBIN_FOO, tokens: ['valid'], outcomes: [answered(200)] },
];

export const NO_POLICY: Step = { name: '1', title: 'no policy', changes: [], rules: [] };

/** The reference scenario. Policies stay in force until a later step changes them. */
export const REFERENCE_STEPS: readonly Step[] = [
  NO_POLICY,
  {
    name: '2',
    title: 'every service of foo requires mutual TLS',
    changes: [{ type: 'apply', file: '2-foo-mtls.yaml' }],
    rules: [FOO_MTLS],
  },
  {
    name: '3',
    title: 'httpbin in bar requires mutual TLS',
    changes: [{ type: 'apply', file: '3-bar-httpbin-mtls.yaml' }],
    rules: [FOO_MTLS, resetFromLegacy({ namespace: 'bar', service: 'httpbin' })],
  },
  {
    name: '4',
    title: 'httpbin in bar requires mutual TLS on port 1234 only',
    changes: [{ type: 'apply', file: '4-bar-httpbin-port-mtls.yaml' }],
    rules: [FOO_MTLS, BAR_PORT_MTLS],
  },
  {
    name: '5',
    title: 'httpbin in foo requires nothing, whatever its namespace requires',
    changes: [{ type: 'apply', file: '5-foo-httpbin-no-mtls.yaml' }],
    rules: [FOO_MTLS, HTTPBIN_FOO_OPEN, BAR_PORT_MTLS],
  },
  {
    name: '6',
    title: 'httpbin in foo requires a token',
    changes: [{ type: 'apply', file: '6-foo-httpbin-jwt.yaml' }],
    rules: [FOO_MTLS, ...HTTPBIN_FOO_JWT, BAR_PORT_MTLS],
    tokensFor: HTTPBIN_FOO,
  },
  {
    name: '7',
    title: 'httpbin in foo requires mutual TLS and a token, which names the principal',
    changes: [{ type: 'apply', file: '7-foo-httpbin-mtls-jwt.yaml' }],
    rules: [...HTTPBIN_FOO_JWT, FOO_MTLS, BAR_PORT_MTLS],
    tokensFor: HTTPBIN_FOO,
  },
  {
    name: '7b',
    title: 'the same without peers: the token is still required',
    changes: [{ type: 'apply', file: '7-foo-httpbin-jwt-without-peers.yaml' }],
    rules: [FOO_MTLS, ...HTTPBIN_FOO_JWT, BAR_PORT_MTLS],
    tokensFor: HTTPBIN_FOO,
  },
  {
    name: '8',
    title: 'the mesh configuration requires mutual TLS everywhere',
    changes: [
      { type: 'apply', file: '8-mesh-mtls.yaml' },
      { type: 'delete', namespace: 'foo', name: 'httpbin' },
      { type: 'delete', namespace: 'bar', name: 'httpbin' },
    ],
    rules: [FOO_MTLS, resetFromLegacy({ namespace: 'bar' })],
  },
  {
    name: '9',
    title: 'policies deleted',
    changes: [
      { type: 'apply', file: '9-mesh-default.yaml' },
      { type: 'delete', namespace: 'foo', name: 'default' },
    ],
    rules: [],
  },
];

/** Undoes every step, whichever of them an earlier run got to. */
export const CLEAN_UP: readonly Change[] = [
  { type: 'apply', file: '9-mesh-default.yaml' },
  { type: 'delete', namespace: 'foo', name: 'default' },
  { type: 'delete', namespace: 'foo', name: 'httpbin' },
  { type: 'delete', namespace: 'bar', name: 'httpbin' },
];
