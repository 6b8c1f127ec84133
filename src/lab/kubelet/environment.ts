import type { Parsed, Problem } from '../../lib/errors.ts';
import { expandReferences } from './expand.ts';
import type { ContainerSpec, EnvValue } from './pod-spec.ts';

/** What a container's environment may refer to. */
export interface EnvironmentSources {
  /** The keys of a ConfigMap or Secret of the pod's namespace as text; undefined when there is none. */
  readonly keys: (source: 'configMap' | 'secret', name: string) => ReadonlyMap<string, string> | undefined;
  /** A field of the pod by its path; undefined when there is no such field. */
  readonly field: (fieldPath: string) => string | undefined;
}

/**
 * The environment of a container: `envFrom`, then `env` in order, whose literal values may refer to earlier ones as
 * `$(NAME)`. A missing ConfigMap, Secret or key that is not optional is a problem, as for the kubelet.
 */
export function containerEnvironment(container: ContainerSpec, sources: EnvironmentSources): Parsed<ReadonlyMap<string, string>> {
  const problems: Problem[] = [];
  const values = new Map<string, string>();
  for (const from of container.envFrom) {
    const keys = sources.keys(from.source, from.name);
    if (keys === undefined && !from.optional) problems.push(missing(from.source, from.name));
    for (const [key, value] of keys ?? []) values.set(`${from.prefix}${key}`, value);
  }
  for (const { name, value } of container.env) {
    const text = resolveValue(value, values, sources, problems);
    if (text !== undefined) values.set(name, text);
  }
  return problems.length === 0 ? { ok: true, value: values } : { ok: false, problems };
}

function resolveValue(
  value: EnvValue,
  earlier: ReadonlyMap<string, string>,
  sources: EnvironmentSources,
  problems: Problem[],
): string | undefined {
  switch (value.type) {
    case 'literal':
      return expandReferences(value.text, earlier);
    case 'field': {
      const field = sources.field(value.fieldPath);
      if (field === undefined) problems.push({ path: 'fieldRef', message: `a pod has no field "${value.fieldPath}"` });
      return field;
    }
    case 'configMap':
    case 'secret': {
      const keys = sources.keys(value.type, value.name);
      const text = keys?.get(value.key);
      if (text !== undefined || value.optional) return text;
      problems.push(keys === undefined ? missing(value.type, value.name) : missingKey(value.type, value.name, value.key));
      return undefined;
    }
  }
}

const KIND_NAMES = { configMap: 'ConfigMap', secret: 'Secret' } as const;

function missing(source: 'configMap' | 'secret', name: string): Problem {
  return { path: `${source}Ref`, message: `${KIND_NAMES[source]} "${name}" does not exist` };
}

function missingKey(source: 'configMap' | 'secret', name: string, key: string): Problem {
  return { path: `${source}KeyRef`, message: `${KIND_NAMES[source]} "${name}" has no key "${key}"` };
}
