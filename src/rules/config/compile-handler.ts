import type { Problem } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import type { AdapterSpec } from '../adapter/adapter-spec.ts';
import { ADAPTERS } from '../adapter/adapters.ts';
import type { CompiledInstance } from '../template/template.ts';
import { type Attempt, below, recordOf } from './attempt.ts';
import type { ConfiguredHandler } from './configuration.ts';

/** An adapter, and what an object says for it. */
export interface ChosenAdapter {
  readonly adapter: AdapterSpec;
  readonly spec: unknown;
  readonly path: string;
}

/** The adapter of a handler, by its kind or by its name; `undefined` for an object that is no handler. */
export function adapterOf(object: KubeObject): ChosenAdapter | { readonly problems: readonly Problem[] } | undefined {
  const ofKind = ADAPTERS.get(object.kind);
  if (ofKind !== undefined) return { adapter: ofKind, spec: object['spec'] ?? {}, path: 'spec' };
  if (object.kind !== 'handler') return undefined;
  const spec = recordOf(object['spec']);
  const named = spec['compiledAdapter'];
  const adapter = typeof named === 'string' ? ADAPTERS.get(named) : undefined;
  if (adapter !== undefined) return { adapter, spec: spec['params'] ?? {}, path: 'spec.params' };
  return { problems: [{ path: 'spec.compiledAdapter', message: `must be one of ${[...ADAPTERS.keys()].join(', ')}` }] };
}

/** `sent` are the instances that rules send to it. */
export function configureHandler(
  id: string,
  { adapter, spec, path }: ChosenAdapter,
  sent: readonly CompiledInstance[],
): Attempt<ConfiguredHandler> {
  const parsed = adapter.parse(spec, sent);
  if (!parsed.ok) return { problems: below(path, parsed.problems) };
  const types = sent.map(({ name, template, types: of }) => [name, template, of]).sort();
  return { value: { id, adapter: adapter.name, params: parsed.value, key: JSON.stringify([id, adapter.name, spec, types]) } };
}
