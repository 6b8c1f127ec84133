import { createHash } from 'node:crypto';
import { parseInjectionConfig } from '../injection/config.ts';
import { DEFAULT_INJECTION_CONFIG } from '../injection/default-config.ts';
import { type InjectionContext, injectionContext, injectPod } from '../injection/inject.ts';
import type { Settings } from '../injection/settings.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import type { KubeObject } from '../model/object.ts';
import { stringMapOf } from './controllers/pod-view.ts';
import { isRecord } from './kubelet/fields.ts';

export const INJECTION_CONFIG_MAP = 'mesh-sidecar-injector';
const CONFIG_KEY = 'config';
/** Any that is not 0. */
const PROXY_MARK = '1337';

/** What Kubernetes' admission does to a new pod: the sidecar webhook, and the fields that every stored pod has. */
export class Admission {
  readonly #names: Names;
  readonly #overrides: Partial<Settings>;
  #contextKey = '';
  #context: InjectionContext | undefined;

  /** `rootless`: in a user namespace, where the proxy has no user of its own. */
  constructor(names: Names, rootless: boolean) {
    this.#names = names;
    this.#overrides = rootless ? { proxyMark: PROXY_MARK } : {};
  }

  /**
   * The pod as it is stored and run. `namespace` is its Namespace object, `configMap` the one of the injection, if any.
   * Throws `invalid` for a pod or an injection configuration that is bad.
   */
  admit(
    pod: KubeObject,
    parts: { readonly namespace: KubeObject | undefined; readonly configMap: KubeObject | undefined; readonly mesh: MeshConfig },
  ): KubeObject {
    const labels = stringMapOf(parts.namespace?.metadata.labels);
    const name = pod.metadata.namespace ?? 'default';
    const result = injectPod(pod, { name, chosen: { by: 'labels', labels } }, this.#contextFor(parts.configMap, parts.mesh));
    const admitted: Readonly<Record<string, unknown>> = result.type === 'injected' ? result.pod : pod;
    const metadata = isRecord(admitted['metadata']) ? admitted['metadata'] : {};
    const spec = isRecord(admitted['spec']) ? admitted['spec'] : {};
    return {
      ...pod,
      metadata: { ...pod.metadata, labels: stringMapOf(metadata['labels']), annotations: stringMapOf(metadata['annotations']) },
      spec: { serviceAccountName: 'default', ...spec },
      status: { phase: 'Pending' },
    };
  }

  #contextFor(configMap: KubeObject | undefined, mesh: MeshConfig): InjectionContext {
    const text = stringMapOf(configMap?.['data'])[CONFIG_KEY] ?? DEFAULT_INJECTION_CONFIG;
    const key = JSON.stringify([text, mesh]);
    if (this.#context !== undefined && this.#contextKey === key) return this.#context;
    const config = parseInjectionConfig(text);
    if (!config.ok) {
      const problems = config.problems.map(formatProblem).join('; ');
      throw new MeshError('invalid', `ConfigMap ${INJECTION_CONFIG_MAP} is not an injection configuration: ${problems}`);
    }
    const hash = (template: string): string => createHash('sha256').update(template).digest('hex');
    const values = { ...config.value.values, ...this.#overrides };
    // The lab's own kubelet runs them.
    const nativeSidecars = (): boolean => true;
    this.#context = injectionContext({ names: this.#names, config: { ...config.value, values }, mesh, hash, nativeSidecars });
    this.#contextKey = key;
    return this.#context;
  }
}
