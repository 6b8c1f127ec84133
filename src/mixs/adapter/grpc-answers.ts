/** Sense of an adapter's answers, which are as hostile as everything that comes from the network. */
import type { Duration as DurationMessage } from '#gen/google/protobuf/duration.ts';
import type { HandleCheckResponse, HandleQuotaResponse, Status as StatusMessage } from '#gen/mesh/adapter/v1/adapter.ts';
import { MeshError } from '../../lib/errors.ts';
import { RPC_CODE_NAMES, RPC_CODES } from '../../lib/rpc-code.ts';
import type { GrpcAdapterParams } from '../../rules/adapter/grpcadapter.ts';
import type { CheckResult, QuotaRequest, QuotaResult, Status } from './adapter.ts';
import { shown } from './shown-text.ts';

/** google.protobuf.Duration: about 10,000 years. */
const MAX_SECONDS = 315_576_000_000;
const MAX_NANOS = 999_999_999;

/** @throws MeshError `internal` for an answer that the contract does not allow */
export function checkResultOf(
  { status, validDuration, validUseCount }: HandleCheckResponse,
  params: Pick<GrpcAdapterParams, 'validDuration' | 'maxValidDuration'>,
): CheckResult {
  const validMs = validDuration === undefined ? params.validDuration : millisecondsOf(validDuration);
  if (validUseCount !== undefined && validUseCount < 0) throw malformed(`valid_use_count ${validUseCount}`);
  return {
    status: statusOf(status),
    validMs: Math.min(validMs, params.maxValidDuration),
    validUses: validUseCount ?? Number.POSITIVE_INFINITY,
  };
}

/** @throws MeshError `internal` for an answer that the contract does not allow */
export function quotaResultOf(
  { status, grantedAmount, validDuration }: HandleQuotaResponse,
  { amount, bestEffort }: QuotaRequest,
): QuotaResult {
  const validMs = validDuration === undefined ? 0 : millisecondsOf(validDuration);
  const { code, message } = statusOf(status);
  if (code !== RPC_CODES.OK) return { status: { code, message }, granted: 0, validMs: 0 };
  if (grantedAmount < 0 || grantedAmount > amount) throw malformed(`granted_amount ${grantedAmount} of ${amount}`);
  if (grantedAmount > 0 && grantedAmount < amount && !bestEffort)
    throw malformed(`granted_amount ${grantedAmount} of ${amount} without best_effort`);
  if (grantedAmount > 0) return { status: { code, message: '' }, granted: grantedAmount, validMs };
  return { status: { code: RPC_CODES.RESOURCE_EXHAUSTED, message: message || 'quota is exhausted' }, granted: 0, validMs: 0 };
}

/** A code that there is not is UNKNOWN, and refuses as every other one does. */
function statusOf(status: StatusMessage | undefined): Status {
  const { code, message } = status ?? { code: RPC_CODES.OK, message: '' };
  return { code: code >= 0 && code < RPC_CODE_NAMES.length ? code : RPC_CODES.UNKNOWN, message: shown(message) };
}

function millisecondsOf({ seconds, nanos }: DurationMessage): number {
  if (seconds < 0 || seconds > MAX_SECONDS || nanos < 0 || nanos > MAX_NANOS)
    throw malformed(`valid_duration of ${seconds} s and ${nanos} ns`);
  return seconds * 1_000 + nanos / 1e6;
}

const malformed = (what: string): MeshError => new MeshError('internal', `the adapter gives an answer that is none: ${what}`);
