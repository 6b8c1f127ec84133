import type { AdapterSpec } from './adapter-spec.ts';
import { denier } from './denier.ts';
import { fluentd } from './fluentd.ts';
import { grpcadapter } from './grpcadapter.ts';
import { kubernetesenv } from './kubernetesenv.ts';
import { listchecker } from './listchecker.ts';
import { memquota } from './memquota.ts';
import { noop } from './noop.ts';
import { opa } from './opa.ts';
import { opentelemetry } from './opentelemetry.ts';
import { prometheus } from './prometheus.ts';
import { rbac } from './rbac.ts';
import { redisquota } from './redisquota.ts';
import { statsd } from './statsd.ts';
import { stdio } from './stdio.ts';
import { zipkin } from './zipkin.ts';

/** Every adapter, by the name that is also the kind of its handlers. */
export const ADAPTERS: ReadonlyMap<string, AdapterSpec> = new Map(
  [
    denier,
    fluentd,
    grpcadapter,
    kubernetesenv,
    listchecker,
    memquota,
    noop,
    opa,
    opentelemetry,
    prometheus,
    rbac,
    redisquota,
    statsd,
    stdio,
    zipkin,
  ].map((adapter) => [adapter.name, adapter]),
);
