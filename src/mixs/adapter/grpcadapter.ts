import type { HandleReportResponse } from '#gen/mesh/adapter/v1/adapter.ts';
import { MeshError } from '../../lib/errors.ts';
import { RPC_CODES } from '../../lib/rpc-code.ts';
import type { GrpcAdapterParams } from '../../rules/adapter/grpcadapter.ts';
import { BatchSender } from '../telemetry/batch-sender.ts';
import type { AdapterEnvironment, CheckResult, Handler, QuotaRequest, QuotaResult } from './adapter.ts';
import { checkResultOf, quotaResultOf } from './grpc-answers.ts';
import { AdapterClient } from './grpc-client.ts';
import { encodeInstance } from './grpc-instance.ts';
import { METHODS } from './grpc-methods.ts';
import { shown } from './shown-text.ts';

const GRANTED = { code: RPC_CODES.OK, message: '' } as const;

/** Lets a program of the operator's own decide, count and take reports: mesh.adapter.v1. */
export function openGrpcAdapter(params: GrpcAdapterParams, environment: AdapterEnvironment): Handler {
  const { failClose } = params;
  const client = new AdapterClient(params, environment);
  const sender = reportSender(params, client, environment);
  const hide = environment.conditions.show(environment.handler, () => client.condition);
  client.start();
  return {
    check: async (built, { signal }) => {
      const instance = encodeInstance(built);
      try {
        const call = (sessionId: string) => ({ sessionId, instance });
        return await client.call(METHODS.handleCheck, call, (answer) => checkResultOf(answer, params), signal);
      } catch (thrown) {
        return undecidedCheck(thrown, failClose, signal);
      }
    },
    quota: async (values, request, { signal }) => {
      const instance = encodeInstance({ template: 'quota', values });
      try {
        const call = (sessionId: string) => ({ sessionId, instance, request });
        return await client.call(METHODS.handleQuota, call, (answer) => quotaResultOf(answer, request), signal);
      } catch (thrown) {
        return undecidedQuota(thrown, failClose, request, signal);
      }
    },
    report: (instances) => {
      for (const built of instances) sender.add({ group: '', text: encodeInstance(built) });
    },
    close: async (signal) => {
      try {
        await sender.close(signal);
        await client.close(signal);
      } finally {
        hide();
      }
    },
  };
}

function reportSender(
  params: GrpcAdapterParams,
  client: AdapterClient,
  environment: AdapterEnvironment,
): BatchSender<Uint8Array> {
  const { address, flushInterval, maxQueued } = params;
  return new BatchSender<Uint8Array>({
    ...environment,
    name: environment.handler,
    target: address,
    send: async (records, signal) => {
      const instances = records.map(({ text }) => text);
      const rejected = ({ rejected: count }: HandleReportResponse): number => Math.min(Math.max(count, 0), records.length);
      return await client.call(METHODS.handleReport, (sessionId) => ({ sessionId, instances }), rejected, signal);
    },
    flushInterval,
    maxRecords: maxQueued,
    onLost: environment.lost,
  });
}

/** Nobody is to remember what nobody has decided. */
function undecidedCheck(thrown: unknown, failClose: boolean, signal: AbortSignal): CheckResult {
  return { status: undecided(thrown, failClose, signal), validMs: 0, validUses: 0 };
}

function undecidedQuota(thrown: unknown, failClose: boolean, request: QuotaRequest, signal: AbortSignal): QuotaResult {
  const status = undecided(thrown, failClose, signal);
  return { status, granted: status.code === RPC_CODES.OK ? request.amount : 0, validMs: 0 };
}

function undecided(thrown: unknown, failClose: boolean, { aborted }: AbortSignal): CheckResult['status'] {
  if (aborted) return { code: RPC_CODES.CANCELLED, message: shown(MeshError.from(thrown).message) };
  // Where the adapter is, and what is wrong with it, is not for those who send requests.
  return failClose ? { code: RPC_CODES.UNAVAILABLE, message: 'the adapter gives no decision' } : GRANTED;
}
