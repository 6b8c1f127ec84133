/** envoy.service.auth.v3.Authorization: Envoy asks before it lets a request or a connection pass. */
import { HeaderValueOption, HeaderValueOption_HeaderAppendAction } from '#gen/envoy/config/core/v3/base.ts';
import { AttributeContext } from '#gen/envoy/service/auth/v3/attribute_context.ts';
import {
  CheckRequest,
  type CheckResponse,
  CheckResponse as CheckResponseCodec,
  DeniedHttpResponse,
  OkHttpResponse,
} from '#gen/envoy/service/auth/v3/external_auth.ts';
import { Status as StatusCodec } from '#gen/google/rpc/status.ts';
import { type CallContext, type Method, unary } from '../../io/grpc/types.ts';
import { RPC_CODES, rpcCodeName } from '../../lib/rpc-code.ts';
import type { AttributeBag } from '../../rules/attribute/bag.ts';
import { bagFrom } from '../../rules/attribute/bags.ts';
import type { Status } from '../adapter/adapter.ts';
import type { CheckOutcome, Dispatcher, HeaderOperation } from '../dispatch/dispatcher.ts';
import type { ApiOptions } from './api-options.ts';
import { attributesOfCheck } from './check-attributes.ts';
import { httpStatusOf } from './http-status.ts';

export function authorizationMethods(options: ApiOptions): readonly Method[] {
  const { pool } = options;
  return [
    unary('/envoy.service.auth.v3.Authorization/Check', CheckRequest, CheckResponseCodec, (request, context) =>
      pool.run(() => authorize(request, context, options), context.signal),
    ),
  ];
}

async function authorize(
  { attributes }: CheckRequest,
  { metadata, signal }: CallContext,
  { inForce }: ApiOptions,
): Promise<CheckResponse> {
  const { dispatcher, vocabulary, charges } = inForce();
  const { values } = attributesOfCheck(attributes ?? AttributeContext.fromPartial({}), metadata, vocabulary);
  const bag = await dispatcher.prepare(bagFrom(values), signal);
  const outcome = await dispatcher.check(bag, signal);
  if (outcome.status.code !== RPC_CODES.OK) return denied(outcome.status, outcome);
  const refusal = await charge(charges.chargesFor(bag), bag, dispatcher, signal);
  return refusal === undefined ? admitted(outcome) : denied(refusal, outcome);
}

/**
 * Takes what a request costs of every quota; gives the first refusal. Clients choose their request ids, so that no id of theirs can make two
 * requests count as one.
 */
async function charge(
  charges: readonly { readonly quota: string; readonly amount: number }[],
  bag: AttributeBag,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<Status | undefined> {
  const request = { bestEffort: false, deduplicationId: '' };
  const results = await Promise.all(
    charges.map(async ({ quota, amount }) => {
      const { status, granted } = await dispatcher.quota(quota, bag, { ...request, amount }, signal);
      if (granted >= amount) return undefined;
      if (status.code !== RPC_CODES.OK) return { code: status.code, message: `quota ${quota}: ${status.message}` };
      return { code: RPC_CODES.RESOURCE_EXHAUSTED, message: `quota is exhausted for: ${quota}` };
    }),
  );
  return results.find((refusal) => refusal !== undefined);
}

function admitted({ requestHeaders, responseHeaders }: CheckOutcome): CheckResponse {
  return {
    status: StatusCodec.fromPartial({ code: RPC_CODES.OK }),
    httpResponse: {
      $case: 'okResponse',
      okResponse: OkHttpResponse.fromPartial({
        headers: requestHeaders.filter(({ operation }) => operation !== 'REMOVE').map(headerOption),
        headersToRemove: requestHeaders.filter(({ operation }) => operation === 'REMOVE').map(({ name }) => name),
        // Envoy's interface knows no removal of response headers.
        responseHeadersToAdd: responseHeaders.filter(({ operation }) => operation !== 'REMOVE').map(headerOption),
      }),
    },
    dynamicMetadata: undefined,
  };
}

/** What was decided goes into the proxy's metadata too, whence the access log brings it to reports as check.error_*. */
function denied({ code, message }: Status, { responseHeaders }: CheckOutcome): CheckResponse {
  return {
    status: StatusCodec.fromPartial({ code, message }),
    httpResponse: {
      $case: 'deniedResponse',
      deniedResponse: DeniedHttpResponse.fromPartial({
        status: { code: httpStatusOf(code) as NonNullable<DeniedHttpResponse['status']>['code'] },
        headers: responseHeaders.filter(({ operation }) => operation !== 'REMOVE').map(headerOption),
        body: `${rpcCodeName(code)}:${message}\n`,
      }),
    },
    dynamicMetadata: { code, message },
  };
}

const { APPEND_IF_EXISTS_OR_ADD, OVERWRITE_IF_EXISTS_OR_ADD } = HeaderValueOption_HeaderAppendAction;

function headerOption({ name, value, operation }: HeaderOperation): HeaderValueOption {
  const append = operation === 'APPEND';
  return HeaderValueOption.fromPartial({
    header: { key: name, value },
    append,
    appendAction: append ? APPEND_IF_EXISTS_OR_ADD : OVERWRITE_IF_EXISTS_OR_ADD,
  });
}
