import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { PrometheusMetric, PrometheusParams } from '../../rules/adapter/prometheus.ts';
import type { Instances } from '../../rules/template/instances.ts';
import type { AdapterEnvironment, Handler } from './adapter.ts';
import { numberOf, textOf } from './value-text.ts';

type Observe = (labels: Readonly<Record<string, string>>, value: number) => void;

interface OwnMetric {
  readonly metric: PrometheusMetric;
  readonly observe: Observe;
}

/** Series of one metric. Labels come from requests: without a bound anybody who calls could fill the memory. */
const MAX_SERIES = 10_000;

/** Characters of a label's value. */
const MAX_LABEL = 512;

/** Makes metrics of instances, in a registry of its own that is scraped on the monitoring port. */
export function openPrometheus({ metrics }: PrometheusParams, { handler, logger, scraped }: AdapterEnvironment): Handler {
  const registry = new Registry();
  const own = new Map<string, OwnMetric[]>();
  for (const metric of metrics) {
    const sameInstance = own.get(metric.instance) ?? [];
    own.set(metric.instance, [
      ...sameInstance,
      { metric, observe: bounded(metric, create(metric, registry), () => tooMany(metric)) },
    ]);
  }
  const tooMany = ({ name }: PrometheusMetric): void =>
    logger.warn('a metric has too many series: new ones are dropped', { handler, metric: name, series: MAX_SERIES });
  const stop = scraped.add(registry);
  return {
    report: (instances) => {
      for (const { template, values } of instances) {
        if (template === 'metric') for (const one of own.get(values.name) ?? []) record(one, values);
      }
    },
    close: async () => stop(),
  };
}

function record({ metric, observe }: OwnMetric, { value, dimensions }: Instances['metric']): void {
  const number = numberOf(value);
  if (number === undefined) return;
  const labels: Record<string, string> = {};
  for (const label of metric.labels) {
    const dimension = dimensions[label];
    labels[label] = dimension === undefined ? '' : labelOf(textOf(dimension));
  }
  observe(labels, number);
}

/** Series are kept: the texts that tell them apart are cut, and copied so that they do not hold the whole that they were cut from. */
function labelOf(text: string): string {
  return text.length <= MAX_LABEL ? text : Buffer.from(`${text.slice(0, MAX_LABEL - 1)}…`).toString();
}

function create({ kind, name, help, labels, buckets }: PrometheusMetric, registry: Registry): Observe {
  const common = { name, help, labelNames: [...labels], registers: [registry] };
  switch (kind) {
    case 'COUNTER': {
      const counter = new Counter(common);
      // A counter never falls.
      return (own, value) => counter.inc(own, Math.max(0, value));
    }
    case 'GAUGE': {
      const gauge = new Gauge(common);
      return (own, value) => gauge.set(own, value);
    }
    case 'DISTRIBUTION': {
      const histogram = new Histogram({ ...common, buckets: [...buckets] });
      return (own, value) => histogram.observe(own, value);
    }
  }
}

function bounded({ labels }: PrometheusMetric, observe: Observe, onTooMany: () => void): Observe {
  if (labels.length === 0) return observe;
  const seen = new Set<string>();
  let told = false;
  return (own, value) => {
    const key = JSON.stringify(Object.values(own));
    if (!seen.has(key)) {
      if (seen.size >= MAX_SERIES) {
        if (!told) onTooMany();
        told = true;
        return;
      }
      seen.add(key);
    }
    observe(own, value);
  };
}
