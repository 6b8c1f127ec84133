import type { ConfigSource, Grain, ProxyNode, TypeUrl } from './ports.ts';

/** Resolves when the source can answer for what is in force by then. */
export async function prepared(source: ConfigSource, node: ProxyNode, typeUrl: TypeUrl, grain: Grain): Promise<void> {
  for (;;) {
    const preparing = source.prepare?.(node, typeUrl, grain);
    if (preparing === undefined) return;
    await preparing;
  }
}
