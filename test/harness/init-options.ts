import type { OptionsOf } from '../../src/flags/table.ts';
import { initFlags } from '../../src/mesh-init/flags.ts';

/** The options of mesh-init: its defaults but for the ones given. */
export function initOptions(given: Partial<OptionsOf<typeof initFlags>>): OptionsOf<typeof initFlags> {
  const options: OptionsOf<typeof initFlags> = {
    'proxy-port': initFlags['proxy-port'].default,
    'inbound-capture-port': initFlags['inbound-capture-port'].default,
    'proxy-uid': initFlags['proxy-uid'].default,
    'proxy-gid': initFlags['proxy-gid'].default,
    'proxy-mark': initFlags['proxy-mark'].default,
    mode: initFlags.mode.default,
    'inbound-ports': initFlags['inbound-ports'].default,
    'exclude-inbound-ports': initFlags['exclude-inbound-ports'].default,
    'include-outbound-ranges': initFlags['include-outbound-ranges'].default,
    'exclude-outbound-ranges': initFlags['exclude-outbound-ranges'].default,
    'include-outbound-ports': initFlags['include-outbound-ports'].default,
    'exclude-outbound-ports': initFlags['exclude-outbound-ports'].default,
    'dry-run': initFlags['dry-run'].default,
    clean: initFlags.clean.default,
  };
  return { ...options, ...given };
}
