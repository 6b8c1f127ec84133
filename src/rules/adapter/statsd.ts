import { type Duration, milliseconds, seconds } from '../../lib/duration.ts';
import type { Fields } from '../../model/parse/fields.ts';
import type { CompiledInstance } from '../template/template.ts';
import { defineAdapter, SCHEMA } from './define.ts';
import { type HostPort, readHostPort } from './host-port.ts';
import { isNamed } from './quota-limits.ts';

const TYPES = ['COUNTER', 'GAUGE', 'DISTRIBUTION'] as const;

export interface StatsdMetric {
  /** `name.kind.namespace` of the metric instance. */
  readonly instance: string;
  readonly type: (typeof TYPES)[number];
  /** The name's parts in turn: text, and dimensions whose values stand there. */
  readonly name: readonly NamePart[];
}

export type NamePart = { readonly text: string } | { readonly dimension: string };

export interface StatsdParams extends HostPort {
  readonly prefix: string;
  readonly flushDuration: Duration;
  readonly flushBytes: number;
  /** Of counters and distributions: which part of them is sent; above 0, up to 1. */
  readonly samplingRate: number;
  readonly metrics: readonly StatsdMetric[];
}

const NUMERIC = ['INT64', 'DOUBLE', 'DURATION'];
const NAME_TEXT = /^[A-Za-z0-9_.-]*$/;

/** Sends metrics to statsd. */
export const statsd = defineAdapter<StatsdParams>({
  name: 'statsd',
  description: 'Sends metrics to a statsd over UDP',
  templates: ['metric'],
  schema: SCHEMA.object({
    address: { ...SCHEMA.text, description: 'host:port; default localhost:8125' },
    prefix: { ...SCHEMA.text, description: 'what all names begin with' },
    flushDuration: { ...SCHEMA.duration, description: 'how long metrics wait for others; default 300ms' },
    flushBytes: { ...SCHEMA.count, description: 'of a packet, at most; default 512' },
    samplingRate: { type: 'number', description: 'which part of counters and distributions is sent; default 1' },
    metrics: SCHEMA.map(
      SCHEMA.object({
        type: { type: 'string', enum: TYPES, description: 'default COUNTER' },
        nameTemplate: {
          ...SCHEMA.text,
          description: 'with dimensions: {{.source}}-{{.code}}; default is the name of the instance',
        },
      }),
    ),
  }),
  read: (fields, instances) => {
    fields.noOthers(['address', 'prefix', 'flushDuration', 'flushBytes', 'samplingRate', 'metrics']);
    const prefix = fields.text('prefix') ?? '';
    if (!NAME_TEXT.test(prefix)) fields.refuse('prefix', 'may have letters, digits, dots, dashes and underscores only');
    const flushDuration = fields.duration('flushDuration') ?? milliseconds(300);
    if (flushDuration < milliseconds(1) || flushDuration > seconds(60)) fields.refuse('flushDuration', 'must be from 1ms to 60s');
    const samplingRate = fields.number('samplingRate') ?? 1;
    if (samplingRate <= 0 || samplingRate > 1) fields.refuse('samplingRate', 'must be above 0, up to 1');
    return {
      ...readHostPort(fields, 'address', 'localhost:8125'),
      prefix,
      flushDuration,
      flushBytes: fields.wholeNumber('flushBytes', 64, 65_000) ?? 512,
      samplingRate,
      metrics: fields.entries('metrics').map(([name, metric]) => readMetric(fields, name, metric, instances)),
    };
  },
});

function readMetric(fields: Fields, name: string, metric: Fields, instances: readonly CompiledInstance[]): StatsdMetric {
  metric.noOthers(['type', 'nameTemplate']);
  const instance = instances.find((sent) => sent.template === 'metric' && isNamed(sent.name, name));
  if (instance === undefined) fields.miss(`metrics.${name}`, `no rule sends a metric instance "${name}" here`);
  const valueType = instance?.types['value'];
  if (valueType !== undefined && !NUMERIC.includes(valueType))
    fields.refuse(`metrics.${name}`, `${name} has a value of type ${valueType}, which is no number`);
  return {
    instance: instance?.name ?? name,
    type: metric.oneOf('type', TYPES) ?? 'COUNTER',
    name: readName(metric, metric.text('nameTemplate') || name, instance),
  };
}

function readName(metric: Fields, template: string, instance: CompiledInstance | undefined): readonly NamePart[] {
  const parts = template.split(/(\{\{\s*\.[A-Za-z0-9_]+\s*\}\})/).filter((part) => part !== '');
  return parts.map((part) => {
    const dimension = /^\{\{\s*\.(\w+)\s*\}\}$/.exec(part)?.[1];
    if (dimension === undefined) {
      if (!NAME_TEXT.test(part)) metric.refuse('nameTemplate', `"${part}" is neither a name nor a dimension such as {{.source}}`);
      return { text: part };
    }
    if (instance !== undefined && instance.types[`dimensions.${dimension}`] === undefined)
      metric.refuse('nameTemplate', `${instance.name} has no dimension "${dimension}"`);
    return { dimension };
  });
}
