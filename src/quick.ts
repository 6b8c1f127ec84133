/**
 * The entry for `version` and `probe`, which scripts and orchestrators run every few seconds: built as one CommonJS file, which Node
 * loads in half the time of the modules of the other entry. bin/mesh chooses between the two by argv alone, so whatever turns
 * out to be something else, or to need more, goes on there.
 */
import type { MeshCommand } from './flags/command.ts';
import { quickHost } from './io/quick-host.ts';
import { type Parts, runMesh } from './run-mesh.ts';

/** A variable, so that the build leaves it alone. */
const OTHER_ENTRY = './mesh.js';

/** The other entry ends the process. */
async function handOver(): Promise<never> {
  await import(OTHER_ENTRY);
  return new Promise(() => {});
}

const parts: Parts = {
  async loadCommand(component, file) {
    const module: { readonly default: MeshCommand } =
      file === 'probe'
        ? await import(`./commands/${component}/probe.ts`)
        : file === 'version'
          ? await import(`./commands/${component}/version.ts`)
          : await handOver();
    return module.default;
  },
  describe: handOver,
  host: () => quickHost(process),
};

void runMesh(parts).then((code) => {
  // Nothing is open, so Node ends when what was written is out.
  if (code !== 0) process.exitCode = code;
});
