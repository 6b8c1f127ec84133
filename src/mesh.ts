/** The executable's entry: every command, each loaded only when it is asked for. */
import { fileURLToPath } from 'node:url';
import type { MeshCommand } from './flags/command.ts';
import { processHost } from './io/process-host.ts';
import { collectStartUpGarbage } from './io/start-up-garbage.ts';
import { seconds } from './lib/duration.ts';
import { runMesh } from './run-mesh.ts';

/** The folder of package.json: this file lies one below it, as source and as built. */
const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Whoever connects at once when a component comes has been served by then. */
const SETTLED = seconds(10);

collectStartUpGarbage(SETTLED);
const code = await runMesh({
  async loadCommand(component, file) {
    const module: { readonly default: MeshCommand } = await import(`./commands/${component}/${file}.ts`);
    return module.default;
  },
  async describe(words) {
    const oclif = await import('./flags/describe.ts');
    await oclif.describe(words, ROOT);
    return 0;
  },
  host: () => processHost(process),
});
// What a component left open, such as an idle connection, does not keep the process; what it wrote is out first.
process.stdout.write('', () => process.stderr.write('', () => process.exit(code === 0 ? process.exitCode : code)));
