import { type Duration, seconds } from '../../lib/duration.ts';
import type { Fields } from '../../model/parse/fields.ts';
import type { CompiledInstance } from '../template/template.ts';
import { SCHEMA } from './define.ts';

/** How much of a quota there is for whom. */
export interface QuotaLimit {
  /** `name.kind.namespace` of the quota instance. */
  readonly instance: string;
  readonly maxAmount: number;
  readonly validDuration: Duration;
  /** Other amounts for some; the first whose dimensions all match holds. */
  readonly overrides: readonly LimitOverride[];
}

export interface LimitOverride {
  readonly dimensions: Readonly<Record<string, string>>;
  readonly maxAmount: number;
  readonly validDuration: Duration;
}

const MAX_AMOUNT = Number.MAX_SAFE_INTEGER;

const LIMIT_PROPERTIES = {
  name: { ...SCHEMA.text, description: 'a quota instance: name, name.quota or name.quota.namespace' },
  maxAmount: SCHEMA.count,
  validDuration: { ...SCHEMA.duration, description: 'after which what was taken is there again; default 1s' },
  overrides: SCHEMA.list(
    SCHEMA.object({ dimensions: SCHEMA.map(SCHEMA.text), maxAmount: SCHEMA.count, validDuration: SCHEMA.duration }, [
      'dimensions',
      'maxAmount',
    ]),
  ),
};

/** The schema of `quotas`, with what an adapter adds to a limit. */
export function limitsSchema(own: Readonly<Record<string, object>> = {}): object {
  return SCHEMA.list(SCHEMA.object({ ...LIMIT_PROPERTIES, ...own }, ['name', 'maxAmount']));
}

/** The fields of a limit that an adapter may add its own to. */
export const LIMIT_FIELDS = ['name', 'maxAmount', 'validDuration', 'overrides'];

/**
 * Reads one limit of a quota adapter's `quotas`. A name must be that of an instance which some rule sends to the handler, and dimensions must
 * be its: else a limit would count nothing, in silence.
 */
export function readLimit(quota: Fields, instances: readonly CompiledInstance[]): QuotaLimit {
  const name = quota.requiredText('name');
  const instance = instances.find((sent) => sent.template === 'quota' && isNamed(sent.name, name));
  if (name !== '' && instance === undefined) {
    const sent = instances.filter(({ template }) => template === 'quota').map((one) => one.name);
    quota.miss(
      'name',
      `no rule sends a quota instance "${name}" here; rules send ${sent.length === 0 ? 'none' : sent.join(', ')}`,
    );
  }
  const validDuration = readValidDuration(quota) ?? seconds(1);
  return {
    instance: instance?.name ?? name,
    maxAmount: readAmount(quota),
    validDuration,
    overrides: quota.objects('overrides').map((override) => {
      override.noOthers(['dimensions', 'maxAmount', 'validDuration']);
      const dimensions = override.textMap('dimensions');
      for (const dimension of Object.keys(dimensions)) {
        if (instance !== undefined && instance.types[`dimensions.${dimension}`] === undefined) {
          override.refuse(`dimensions.${dimension}`, `${instance.name} has no such dimension`);
        }
      }
      return { dimensions, maxAmount: readAmount(override), validDuration: readValidDuration(override) ?? validDuration };
    }),
  };
}

/** Whether an instance's id is meant by a name, with or without kind and namespace. */
export function isNamed(id: string, name: string): boolean {
  return id === name || id.startsWith(`${name}.`);
}

function readAmount(fields: Fields): number {
  if (!fields.has('maxAmount')) fields.refuse('maxAmount', 'is required');
  return fields.wholeNumber('maxAmount', 0, MAX_AMOUNT) ?? 0;
}

function readValidDuration(fields: Fields): Duration | undefined {
  const duration = fields.duration('validDuration');
  if (duration !== undefined && duration <= 0) fields.refuse('validDuration', 'must be longer than 0s');
  return duration;
}
