import { createHash } from 'node:crypto';
import type { LimitOverride, QuotaLimit } from '../../rules/adapter/quota-limits.ts';
import type { TypedValue } from '../../rules/attribute/value.ts';
import type { Instances } from '../../rules/template/instances.ts';
import { textOf } from './value-text.ts';

/** Characters. */
const MAX_KEPT = 256;

/** One text for everybody whose requests are counted together: the instance and all its dimensions. */
export function quotaKey({ name, dimensions }: Instances['quota']): string {
  const parts = Object.entries(dimensions).map(([dimension, value]) => [dimension, textOf(value)]);
  return JSON.stringify([name, ...parts.sort(([a = ''], [b = '']) => (a < b ? -1 : 1))]);
}

/** What stands for a text of a request where it is kept: dimensions and ids may be as long as a message. */
export function compact(text: string): string {
  return text.length <= MAX_KEPT ? text : `sha256:${createHash('sha256').update(text).digest('base64url')}`;
}

/** The amount and time that hold for dimensions: of the first override that fits, or the limit's own. */
export function limitFor(
  limit: QuotaLimit,
  dimensions: Readonly<Record<string, TypedValue>>,
): Pick<LimitOverride, 'maxAmount' | 'validDuration'> {
  const fits = ({ dimensions: wanted }: LimitOverride): boolean =>
    Object.entries(wanted).every(([name, text]) => {
      const value = dimensions[name];
      return value !== undefined && textOf(value) === text;
    });
  return limit.overrides.find(fits) ?? limit;
}
