import { readOverlay, type SidecarOverlay } from './overlay.ts';
import type { JsonObject } from './shape.ts';
import type { CompiledTemplate } from './template.ts';

/** Overlays kept, the latest ones. */
const LIMIT = 64;
/** Characters of a pod's variables up to which its overlay is kept, so that what is kept is bounded too. */
const MAX_KEY = 16_384;

/**
 * What a template yields for a pod, kept for the next pods with the same variables: those of one workload, which come in crowds. Only
 * `changing` is compared; `constant` are the variables that are the same for every pod. An overlay is never changed, so that pods can
 * share one. Throws MeshError `invalid` when the template yields none.
 */
export function overlaysOf(template: CompiledTemplate, constant: JsonObject): (changing: JsonObject) => SidecarOverlay {
  const kept = new Map<string, SidecarOverlay>();
  return (changing) => {
    const key = JSON.stringify(changing);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const overlay = readOverlay(template.render({ ...constant, ...changing }));
    if (key.length <= MAX_KEY) kept.set(key, overlay);
    const [oldest] = kept.size > LIMIT ? kept.keys() : [];
    if (oldest !== undefined) kept.delete(oldest);
    return overlay;
  };
}
