import { type InjectionConfig, parseInjectionConfig } from '../../src/injection/config.ts';
import type { PodNamespace } from '../../src/injection/decision.ts';
import { DEFAULT_INJECTION_CONFIG } from '../../src/injection/default-config.ts';
import { type InjectionContext, type InjectionResult, injectionContext } from '../../src/injection/inject.ts';
import { DEFAULT_DOMAIN, namesFor } from '../../src/lib/names.ts';
import { DEFAULT_MESH_CONFIG } from '../../src/model/mesh-config.ts';

/** The built-in injection configuration with other fields. */
export function injectionConfig(fields: Partial<InjectionConfig> = {}): InjectionConfig {
  const parsed = parseInjectionConfig(DEFAULT_INJECTION_CONFIG);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return { ...parsed.value, ...fields };
}

/** A context whose version is constant, so that golden files change only with what pods get. */
export function fakeInjection(fields: Partial<InjectionConfig> = {}, domain = DEFAULT_DOMAIN): InjectionContext {
  return injectionContext({
    names: namesFor(domain),
    config: injectionConfig(fields),
    mesh: DEFAULT_MESH_CONFIG,
    hash: () => 'template-hash',
  });
}

/** A namespace that asks for injection. */
export const IN_MESH: PodNamespace = { name: 'foo', chosen: { by: 'labels', labels: { 'mesh-injection': 'enabled' } } };

export function requireInjected(result: InjectionResult): Extract<InjectionResult, { type: 'injected' }> {
  if (result.type !== 'injected') throw new Error(`skipped: ${result.reason}`);
  return result;
}
