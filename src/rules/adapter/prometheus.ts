import type { Fields } from '../../model/parse/fields.ts';
import type { CompiledInstance } from '../template/template.ts';
import { defineAdapter, SCHEMA } from './define.ts';
import { isNamed } from './quota-limits.ts';

export interface PrometheusMetric {
  /** `name.kind.namespace` of the metric instance. */
  readonly instance: string;
  /** With its namespace: `mesh_request_count`. */
  readonly name: string;
  readonly help: string;
  readonly kind: 'COUNTER' | 'GAUGE' | 'DISTRIBUTION';
  /** Dimensions of the instance, in this order. */
  readonly labels: readonly string[];
  /** Upper bounds, rising; of distributions. */
  readonly buckets: readonly number[];
}

export interface PrometheusParams {
  readonly metrics: readonly PrometheusMetric[];
}

const KINDS = ['COUNTER', 'GAUGE', 'DISTRIBUTION'] as const;
/** https://prometheus.io/docs/concepts/data_model/ */
const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const MAX_BUCKETS = 200;
const NUMERIC = ['INT64', 'DOUBLE', 'DURATION'];

/** What Prometheus scrapes on the monitoring port. */
export const prometheus = defineAdapter<PrometheusParams>({
  name: 'prometheus',
  description: 'Makes metrics for Prometheus, which are scraped on the monitoring port',
  templates: ['metric'],
  schema: SCHEMA.object({
    metrics: SCHEMA.list(
      SCHEMA.object(
        {
          name: SCHEMA.text,
          namespace: { ...SCHEMA.text, description: 'what the name begins with; default mesh' },
          description: SCHEMA.text,
          instanceName: { ...SCHEMA.text, description: 'a metric instance: name, name.metric or name.metric.namespace' },
          kind: { type: 'string', enum: KINDS },
          labelNames: SCHEMA.list(SCHEMA.text),
          buckets: SCHEMA.object({
            explicitBuckets: SCHEMA.object({ bounds: SCHEMA.list({ type: 'number' }) }),
            linearBuckets: SCHEMA.object({
              numFiniteBuckets: SCHEMA.count,
              width: { type: 'number' },
              offset: { type: 'number' },
            }),
            exponentialBuckets: SCHEMA.object({
              numFiniteBuckets: SCHEMA.count,
              growthFactor: { type: 'number' },
              scale: { type: 'number' },
            }),
          }),
        },
        ['name', 'instanceName', 'kind'],
      ),
    ),
  }),
  read: (fields, instances) => {
    fields.noOthers(['metrics']);
    const names = new Set<string>();
    return {
      metrics: fields.objects('metrics').map((metric) => {
        const read = readMetric(metric, instances);
        if (names.has(read.name)) metric.refuse('name', `${read.name} is there twice`);
        names.add(read.name);
        return read;
      }),
    };
  },
});

function readMetric(metric: Fields, instances: readonly CompiledInstance[]): PrometheusMetric {
  metric.noOthers(['name', 'namespace', 'description', 'instanceName', 'kind', 'labelNames', 'buckets']);
  const namespace = metric.text('namespace') ?? 'mesh';
  const short = metric.requiredText('name');
  const name = namespace === '' ? short : `${namespace}_${short}`;
  if (short !== '' && !METRIC_NAME.test(name)) metric.refuse('name', `"${name}" is no name of a metric`);
  const instanceName = metric.requiredText('instanceName');
  const instance = instances.find((sent) => sent.template === 'metric' && isNamed(sent.name, instanceName));
  if (instanceName !== '' && instance === undefined) {
    metric.miss('instanceName', `no rule sends a metric instance "${instanceName}" here`);
  }
  const valueType = instance?.types['value'];
  if (valueType !== undefined && !NUMERIC.includes(valueType))
    metric.refuse('instanceName', `${instanceName} has a value of type ${valueType}, which is no number`);
  if (!metric.has('kind')) metric.refuse('kind', 'is required');
  return {
    instance: instance?.name ?? instanceName,
    name,
    help: metric.text('description') || name,
    kind: metric.oneOf('kind', KINDS) ?? 'COUNTER',
    labels: readLabels(metric, instance),
    buckets: readBuckets(metric.object('buckets')),
  };
}

function readLabels(metric: Fields, instance: CompiledInstance | undefined): readonly string[] {
  const labels = metric.texts('labelNames');
  for (const [index, label] of labels.entries()) {
    if (!LABEL_NAME.test(label)) metric.refuse(`labelNames[${index}]`, `"${label}" is no name of a label`);
    else if (instance !== undefined && instance.types[`dimensions.${label}`] === undefined) {
      metric.refuse(`labelNames[${index}]`, `${instance.name} has no dimension "${label}"`);
    }
  }
  return labels;
}

function readBuckets(buckets: Fields): readonly number[] {
  buckets.noOthers(['explicitBuckets', 'linearBuckets', 'exponentialBuckets']);
  if (buckets.has('explicitBuckets')) return explicitBuckets(buckets);
  if (buckets.has('linearBuckets')) {
    const linear = buckets.object('linearBuckets');
    linear.noOthers(['numFiniteBuckets', 'width', 'offset']);
    const [width, offset] = [positive(linear, 'width', 0), linear.number('offset') ?? 0];
    return Array.from({ length: countOf(linear) + 1 }, (_, index) => offset + width * index);
  }
  if (buckets.has('exponentialBuckets')) {
    const exponential = buckets.object('exponentialBuckets');
    exponential.noOthers(['numFiniteBuckets', 'growthFactor', 'scale']);
    const [factor, scale] = [positive(exponential, 'growthFactor', 1), positive(exponential, 'scale', 0)];
    return Array.from({ length: countOf(exponential) + 1 }, (_, index) => scale * factor ** index);
  }
  return DEFAULT_BUCKETS;
}

function explicitBuckets(buckets: Fields): readonly number[] {
  const explicit = buckets.object('explicitBuckets');
  explicit.noOthers(['bounds']);
  const bounds = explicit.numbers('bounds');
  const rises = bounds.every((bound, index) => index === 0 || bound > (bounds[index - 1] ?? bound));
  if (!rises || bounds.length === 0 || bounds.length > MAX_BUCKETS)
    explicit.refuse('bounds', `must be 1 to ${MAX_BUCKETS} numbers that rise`);
  return bounds;
}

const countOf = (fields: Fields): number => {
  if (!fields.has('numFiniteBuckets')) fields.refuse('numFiniteBuckets', 'is required');
  return fields.wholeNumber('numFiniteBuckets', 1, MAX_BUCKETS) ?? 1;
};

function positive(fields: Fields, field: string, above: number): number {
  const value = fields.number(field);
  if (value === undefined) fields.refuse(field, 'is required');
  else if (value <= above) fields.refuse(field, `must be above ${above}`);
  return value ?? above + 1;
}
