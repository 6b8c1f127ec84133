import type { OptionsOf } from '../../src/flags/table.ts';
import { type ProxyFlags, proxyFlags } from '../../src/pilot-agent/flags.ts';

/** The options of `pilot-agent proxy --bootstrapv2`: the defaults but for the ones given. */
export function proxyOptions(given: Partial<OptionsOf<ProxyFlags>> = {}): OptionsOf<ProxyFlags> {
  const defaults = Object.fromEntries(Object.entries(proxyFlags).map(([name, flag]) => [name, flag.default]));
  return { ...(defaults as unknown as OptionsOf<ProxyFlags>), bootstrapv2: true, ...given };
}
