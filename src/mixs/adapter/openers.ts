import { MeshError } from '../../lib/errors.ts';
import type { DenierParams } from '../../rules/adapter/denier.ts';
import type { FluentdParams } from '../../rules/adapter/fluentd.ts';
import type { GrpcAdapterParams } from '../../rules/adapter/grpcadapter.ts';
import type { KubernetesenvParams } from '../../rules/adapter/kubernetesenv.ts';
import type { ListCheckerParams } from '../../rules/adapter/listchecker.ts';
import type { MemquotaParams } from '../../rules/adapter/memquota.ts';
import type { OpaParams } from '../../rules/adapter/opa.ts';
import type { OpenTelemetryParams } from '../../rules/adapter/opentelemetry.ts';
import type { PrometheusParams } from '../../rules/adapter/prometheus.ts';
import type { RbacParams } from '../../rules/adapter/rbac.ts';
import type { RedisquotaParams } from '../../rules/adapter/redisquota.ts';
import type { StatsdParams } from '../../rules/adapter/statsd.ts';
import type { StdioParams } from '../../rules/adapter/stdio.ts';
import type { ZipkinParams } from '../../rules/adapter/zipkin.ts';
import type { ConfiguredHandler } from '../../rules/config/configuration.ts';
import type { AdapterEnvironment, Handler } from './adapter.ts';
import { openDenier } from './denier.ts';
import { openFluentd } from './fluentd.ts';
import { openGrpcAdapter } from './grpcadapter.ts';
import { openKubernetesenv } from './kubernetesenv.ts';
import { openListChecker } from './listchecker.ts';
import { openMemquota } from './memquota.ts';
import { openNoop } from './noop.ts';
import { openOpa } from './opa.ts';
import { openOpenTelemetry } from './opentelemetry.ts';
import { openPrometheus } from './prometheus.ts';
import { openRbac } from './rbac.ts';
import { openRedisquota } from './redisquota.ts';
import { openStatsd } from './statsd.ts';
import { openStdio } from './stdio.ts';
import { openZipkin } from './zipkin.ts';

/** Opens a handler whose parameters are still untyped; they are those that the adapter's own spec has read. */
type Opener = (params: unknown, environment: AdapterEnvironment) => Handler;

/** Ties what opens a handler to the parameters that its adapter reads. */
function opener<Params>(open: (params: Params, environment: AdapterEnvironment) => Handler): Opener {
  return (params, environment) => open(params as Params, environment);
}

/** What opens the handlers of each adapter of rules/adapter. */
export const OPENERS: Readonly<Record<string, Opener>> = {
  denier: opener<DenierParams>(openDenier),
  fluentd: opener<FluentdParams>(openFluentd),
  grpcadapter: opener<GrpcAdapterParams>(openGrpcAdapter),
  kubernetesenv: opener<KubernetesenvParams>(openKubernetesenv),
  listchecker: opener<ListCheckerParams>(openListChecker),
  memquota: opener<MemquotaParams>(openMemquota),
  noop: openNoop,
  opa: opener<OpaParams>(openOpa),
  opentelemetry: opener<OpenTelemetryParams>(openOpenTelemetry),
  prometheus: opener<PrometheusParams>(openPrometheus),
  rbac: opener<RbacParams>(openRbac),
  redisquota: opener<RedisquotaParams>(openRedisquota),
  statsd: opener<StatsdParams>(openStatsd),
  stdio: opener<StdioParams>(openStdio),
  zipkin: opener<ZipkinParams>(openZipkin),
};

/** @throws MeshError when the handler cannot be opened */
export function openHandler({ adapter, params }: ConfiguredHandler, environment: AdapterEnvironment): Handler {
  const open = OPENERS[adapter];
  if (open === undefined) throw new MeshError('unimplemented', `handlers of ${adapter} cannot be opened`);
  return open(params, environment);
}
