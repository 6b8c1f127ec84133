/** The methods of mesh.adapter.v1.Adapter as mixs calls them (proto/mesh/adapter/v1/adapter.proto). */

import { HealthCheckRequest, HealthCheckResponse } from '#gen/grpc/health/v1/health.ts';
import {
  CloseSessionRequest,
  CloseSessionResponse,
  CreateSessionRequest,
  CreateSessionResponse,
  HandleCheckRequest,
  HandleCheckResponse,
  HandleQuotaRequest,
  HandleQuotaResponse,
  HandleReportRequest,
  HandleReportResponse,
  ValidateSessionRequest,
  ValidateSessionResponse,
} from '#gen/mesh/adapter/v1/adapter.ts';
import type { Codec } from '../../io/grpc/types.ts';
import type { QuotaRequest } from './adapter.ts';

/** A method: where it is, and how its messages are written and read. */
export interface AdapterMethod<Req, Res> {
  readonly path: string;
  readonly requestCodec: Pick<Codec<Req>, 'encode'>;
  readonly responseCodec: Pick<Codec<Res>, 'decode'>;
}

/** An instance that is encoded already, and the session that it goes to. */
export interface InstanceCall {
  readonly sessionId: string;
  readonly instance: Uint8Array;
}

export interface QuotaCall extends InstanceCall {
  readonly request: QuotaRequest;
}

export interface ReportCall {
  readonly sessionId: string;
  readonly instances: readonly Uint8Array[];
}

function method<Req, Res>(
  name: string,
  requestCodec: Pick<Codec<Req>, 'encode'>,
  responseCodec: Pick<Codec<Res>, 'decode'>,
): AdapterMethod<Req, Res> {
  return { path: `/mesh.adapter.v1.Adapter/${name}`, requestCodec, responseCodec };
}

/** Of field 2, `instance` or `instances`, in all requests: encoded messages are spliced into them. */
const INSTANCE_TAG = (2 << 3) | 2;

export const METHODS = {
  health: {
    path: '/grpc.health.v1.Health/Check',
    requestCodec: HealthCheckRequest,
    responseCodec: HealthCheckResponse,
  } satisfies AdapterMethod<HealthCheckRequest, HealthCheckResponse>,
  validateSession: method('ValidateSession', ValidateSessionRequest, ValidateSessionResponse),
  createSession: method('CreateSession', CreateSessionRequest, CreateSessionResponse),
  closeSession: method('CloseSession', CloseSessionRequest, CloseSessionResponse),
  handleCheck: method<InstanceCall, HandleCheckResponse>(
    'HandleCheck',
    {
      encode: ({ sessionId, instance }) =>
        HandleCheckRequest.encode({ sessionId, instance: undefined }).uint32(INSTANCE_TAG).bytes(instance),
    },
    HandleCheckResponse,
  ),
  handleQuota: method<QuotaCall, HandleQuotaResponse>(
    'HandleQuota',
    {
      encode: ({ sessionId, instance, request }) =>
        HandleQuotaRequest.encode({ sessionId, instance: undefined, ...request })
          .uint32(INSTANCE_TAG)
          .bytes(instance),
    },
    HandleQuotaResponse,
  ),
  handleReport: method<ReportCall, HandleReportResponse>(
    'HandleReport',
    {
      encode: ({ sessionId, instances }) => {
        const writer = HandleReportRequest.encode({ sessionId, instances: [] });
        for (const instance of instances) writer.uint32(INSTANCE_TAG).bytes(instance);
        return writer;
      },
    },
    HandleReportResponse,
  ),
} as const;
