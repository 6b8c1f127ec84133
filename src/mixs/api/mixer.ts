/** istio.mixer.v1.Mixer: checks, quota and reports, as clients of Mixer ask for them. */
import {
  type CheckRequest,
  CheckRequest as CheckRequestCodec,
  CheckResponse,
  HeaderOperation_Operation,
  type ReferencedAttributes,
  ReferencedAttributes_Condition,
  ReportRequest,
  ReportRequest_RepeatedAttributesSemantics,
  ReportResponse,
} from '#gen/istio/mixer/v1/mixer.ts';
import { type CallContext, type Method, unary } from '../../io/grpc/types.ts';
import { MeshError } from '../../lib/errors.ts';
import type { AttributeBag, Vocabulary } from '../../rules/attribute/bag.ts';
import { bagFrom, type Reference, TrackedBag } from '../../rules/attribute/bags.ts';
import type { Value } from '../../rules/attribute/value.ts';
import { type DecodeOptions, decodeAttributes } from '../attribute/decode.ts';
import { DictionaryWriter } from '../attribute/dictionary.ts';
import type { CheckOutcome, Dispatcher, HeaderOperation } from '../dispatch/dispatcher.ts';
import type { WorkerPool } from '../worker-pool.ts';
import { inPortions, PORTION } from './portions.ts';

/** What the configuration in force has for requests. */
export interface InForce {
  readonly dispatcher: Dispatcher;
  readonly vocabulary: Vocabulary;
}

export interface MixerOptions {
  readonly inForce: () => InForce;
  readonly pool: WorkerPool;
  /** Told of attributes that nobody knows. */
  readonly unknownAttribute: (name: string) => void;
}

const MAX_QUOTAS = 100;
const MAX_BAGS = 10_000;

export function mixerMethods(options: MixerOptions): readonly Method[] {
  const { pool } = options;
  return [
    unary('/istio.mixer.v1.Mixer/Check', CheckRequestCodec, CheckResponse, (request, context) =>
      pool.run(() => check(request, context, options), context.signal),
    ),
    unary('/istio.mixer.v1.Mixer/Report', ReportRequest, ReportResponse, async (request, context) => {
      // Before it waits: a set that says nothing takes two bytes.
      if (request.attributes.length > MAX_BAGS)
        throw new MeshError('invalid', `attributes: a report has at most ${MAX_BAGS} sets`);
      return pool.run(() => report(request, context, options), context.signal);
    }),
  ];
}

async function check(request: CheckRequest, { signal }: CallContext, options: MixerOptions): Promise<CheckResponse> {
  const { globalWordCount } = request;
  const asked = Object.entries(request.quotas);
  refuseQuotas(asked);
  const { dispatcher, vocabulary } = options.inForce();
  const values = new Map<string, Value>();
  decodeAttributes(request.attributes, { vocabulary, globalWordCount, unknown: options.unknownAttribute }, values);
  // An await costs, and mostly there is nothing to wait for.
  const prepared = dispatcher.prepare(bagFrom(values), signal);
  const bag = new TrackedBag(prepared instanceof Promise ? await prepared : prepared);
  const found = dispatcher.check(bag, signal);
  const outcome = found instanceof Promise ? await found : found;
  const { code, message } = outcome.status;
  const precondition = {
    status: { code, message, details: [] },
    validDuration: durationOf(outcome.validMs),
    validUseCount: outcome.validUses,
    referencedAttributes: referenced(bag.references(), globalWordCount),
    routeDirective: directiveOf(outcome),
  };
  const isAllocated = code === 0 && asked.length > 0;
  return { precondition, quotas: isAllocated ? await allocate(asked, request, bag, dispatcher, signal) : {} };
}

type AskedQuota = readonly [name: string, params: CheckRequest['quotas'][string]];

function refuseQuotas(asked: readonly AskedQuota[]): void {
  if (asked.length > MAX_QUOTAS) throw new MeshError('invalid', `quotas: a request asks for at most ${MAX_QUOTAS}`);
  for (const [name, { amount }] of asked) {
    // What is taken back would be there for the caller once more.
    if (amount < 0) throw new MeshError('invalid', `quotas[${JSON.stringify(name)}].amount: ${amount} is below 0`);
  }
}

/** Quotas are taken only for requests that are granted. */
async function allocate(
  asked: readonly AskedQuota[],
  { deduplicationId, globalWordCount }: CheckRequest,
  bag: AttributeBag,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<CheckResponse['quotas']> {
  const results = asked.map(async ([name, { amount, bestEffort }]) => {
    const tracked = new TrackedBag(bag);
    const { granted, validMs } = await dispatcher.quota(name, tracked, { amount, bestEffort, deduplicationId }, signal);
    const referencedAttributes = referenced(tracked.references(), globalWordCount);
    return [name, { grantedAmount: granted, validDuration: durationOf(validMs), referencedAttributes }] as const;
  });
  return Object.fromEntries(await Promise.all(results));
}

async function report(request: ReportRequest, { signal }: CallContext, options: MixerOptions): Promise<ReportResponse> {
  const { dispatcher, vocabulary } = options.inForce();
  const { unknownAttribute } = options;
  // All or nothing: a client that is refused because of the last set may send all of them again.
  if (request.attributes.length > PORTION) for (const _ of bagsOf(request, { vocabulary }));
  await inPortions(bagsOf(request, { vocabulary, unknown: unknownAttribute }), signal, (bags) => dispatcher.report(bags, signal));
  return {};
}

/** The sets of a report one after the other; each may be a change of the one before. */
function* bagsOf(
  { attributes, defaultWords, globalWordCount, repeatedAttributesSemantics }: ReportRequest,
  known: Pick<DecodeOptions, 'vocabulary' | 'unknown'>,
): Generator<AttributeBag> {
  const isDelta = repeatedAttributesSemantics === ReportRequest_RepeatedAttributesSemantics.DELTA_ENCODING;
  const options = { ...known, globalWordCount, defaultWords };
  let values = new Map<string, Value>();
  for (const bytes of attributes) {
    values = isDelta ? new Map(values) : new Map();
    decodeAttributes(bytes, options, values);
    yield bagFrom(values);
  }
}

/** What a client that keeps the answer must compare, in its own words. */
function referenced(references: readonly Reference[], globalWordCount: number): ReferencedAttributes {
  const dictionary = new DictionaryWriter(globalWordCount);
  const attributeMatches = references.map(({ name, key, present }) => ({
    name: dictionary.indexOf(name),
    condition: present ? ReferencedAttributes_Condition.EXACT : ReferencedAttributes_Condition.ABSENCE,
    regex: '',
    mapKey: key === undefined ? 0 : dictionary.indexOf(key),
  }));
  return { words: dictionary.words, attributeMatches };
}

function directiveOf({
  requestHeaders,
  responseHeaders,
}: CheckOutcome): NonNullable<CheckResponse['precondition']>['routeDirective'] {
  if (requestHeaders.length + responseHeaders.length === 0) return undefined;
  return {
    updateRequestHeaders: requestHeaders.map(headerOf),
    updateResponseHeaders: responseHeaders.map(headerOf),
    directResponseCode: 0,
    directResponseBody: '',
  };
}

function headerOf({ name, value, operation }: HeaderOperation) {
  return { name, value, operation: HeaderOperation_Operation[operation] };
}

function durationOf(ms: number): { readonly seconds: number; readonly nanos: number } {
  const whole = Math.floor(ms / 1000);
  return { seconds: whole, nanos: Math.round((ms - whole * 1000) * 1e6) };
}
