import validateSpec from '#schemas/policy-spec.js';
import type { Problem } from '../../lib/errors.ts';
import type {
  AuthnPolicy,
  JwksSource,
  JwtOrigin,
  PolicyTarget,
  PortSelector,
  StringMatch,
  TriggerRule,
} from '../authn-policy.ts';
import { POLICY_SPEC } from '../schema/policy.ts';
import { type Fields, isMapping } from './object.ts';
import { checkOrigins, checkPeers, checkTargets } from './policy-checks.ts';
import { checkSchema } from './schema-problems.ts';

/** The part of a policy that its `spec` says. */
export type PolicySpec = Pick<
  AuthnPolicy,
  'targets' | 'mutualTls' | 'peerIsOptional' | 'origins' | 'originIsOptional' | 'principalBinding'
>;

/** Everything that is wrong with a `spec`; none, and `readSpec` may read it. */
export function checkSpec(spec: unknown): readonly Problem[] {
  if (!isMapping(spec)) return [{ path: 'spec', message: MISSING_SPEC }];
  const plain = withoutNulls(spec);
  const schemaProblems = checkSchema(validateSpec, POLICY_SPEC, plain, 'spec');
  return [...schemaProblems, ...checkTargets(plain), ...checkPeers(plain), ...checkOrigins(plain)];
}

/** A document cut off behind its metadata must not read as "nothing is required". */
const MISSING_SPEC = 'required: a mapping; write `spec: {}` for a policy that requires nothing';

/** Reads a spec that `checkSpec` found nothing wrong with. */
export function readSpec(spec: unknown): PolicySpec {
  const raw = withoutNulls(spec) as RawSpec;
  return {
    targets: (raw.targets ?? []).map(readTarget),
    mutualTls: readMutualTls(raw.peers ?? []),
    peerIsOptional: raw.peerIsOptional ?? false,
    origins: (raw.origins ?? []).map(({ jwt }) => readOrigin(jwt)),
    originIsOptional: raw.originIsOptional ?? false,
    principalBinding: raw.principalBinding ?? 'USE_PEER',
  };
}

/** A field that is null is a field that is not there, as in the JSON form of protobuf; `mtls` alone says something by being named. */
export function withoutNulls(value: unknown): Fields {
  return isMapping(value) ? (strip(value) as Fields) : {};
}

function strip(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strip);
  if (!isMapping(value)) return value;
  const kept = Object.entries(value).filter(([key, inner]) => inner !== null || key === 'mtls');
  return Object.fromEntries(kept.map(([key, inner]) => [key, inner === null ? {} : strip(inner)]));
}

/** The spec as its schema lets it be. */
interface RawSpec {
  readonly targets?: readonly RawTarget[];
  readonly peers?: readonly { readonly mtls?: RawMutualTls }[];
  readonly peerIsOptional?: boolean;
  readonly origins?: readonly { readonly jwt: RawJwt }[];
  readonly originIsOptional?: boolean;
  readonly principalBinding?: 'USE_PEER' | 'USE_ORIGIN';
}

interface RawTarget {
  readonly name: string;
  readonly ports?: readonly { readonly number?: number; readonly name?: string }[];
  readonly labels?: Readonly<Record<string, string>>;
}

interface RawMutualTls {
  readonly mode?: 'STRICT' | 'PERMISSIVE';
  readonly allowTls?: boolean;
}

interface RawJwt {
  readonly issuer: string;
  readonly audiences?: readonly string[];
  readonly jwksUri?: string;
  readonly jwks?: string;
  readonly jwtHeaders?: readonly string[];
  readonly jwtParams?: readonly string[];
  readonly triggerRules?: readonly {
    readonly excludedPaths?: readonly RawMatch[];
    readonly includedPaths?: readonly RawMatch[];
  }[];
}

type RawMatch = Readonly<Partial<Record<StringMatch['type'], string>>>;

function readTarget({ name, ports = [], labels = {} }: RawTarget): PolicyTarget {
  const selectors = ports.map(
    (port): PortSelector => (port.number === undefined ? { name: port.name ?? '' } : { number: port.number }),
  );
  return { name, ports: selectors, labels };
}

/** Only the first `mtls` counts. `allowTls`, which is older than the modes, is documented to mean PERMISSIVE. */
function readMutualTls(peers: readonly { readonly mtls?: RawMutualTls }[]): AuthnPolicy['mutualTls'] {
  const mtls = peers.find((peer) => peer.mtls !== undefined)?.mtls;
  if (mtls === undefined) return undefined;
  return mtls.allowTls === true ? 'PERMISSIVE' : (mtls.mode ?? 'STRICT');
}

function readOrigin(jwt: RawJwt): JwtOrigin {
  const { issuer, audiences = [], jwtHeaders = [], jwtParams = [], triggerRules = [] } = jwt;
  return { issuer, audiences, jwks: readJwks(jwt), jwtHeaders, jwtParams, triggerRules: triggerRules.map(readRule) };
}

function readJwks({ issuer, jwks, jwksUri }: RawJwt): JwksSource {
  if (jwks !== undefined) return { type: 'inline', jwks };
  if (jwksUri !== undefined) return { type: 'uri', uri: jwksUri };
  return { type: 'discovery', issuer };
}

function readRule(rule: {
  readonly excludedPaths?: readonly RawMatch[];
  readonly includedPaths?: readonly RawMatch[];
}): TriggerRule {
  return { excludedPaths: (rule.excludedPaths ?? []).map(readMatch), includedPaths: (rule.includedPaths ?? []).map(readMatch) };
}

function readMatch(match: RawMatch): StringMatch {
  for (const type of MATCH_TYPES) {
    const value = match[type];
    if (value !== undefined) return { type, value };
  }
  return { type: 'exact', value: '' };
}

const MATCH_TYPES = ['exact', 'prefix', 'suffix', 'regex'] as const;
