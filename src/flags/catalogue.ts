import type { MeshCommand } from './command.ts';
import { COMPONENTS } from './components.ts';

/**
 * Every command of the executable, in order. For the manifest, the reference pages and tests: it loads all of them, which
 * starting one never does.
 */
export async function allCommands(): Promise<readonly MeshCommand[]> {
  const files = Object.entries(COMPONENTS).flatMap(([component, { subcommands }]) =>
    ['index', ...subcommands].map((file) => `../commands/${component}/${file}.ts`),
  );
  const modules: { readonly default: MeshCommand }[] = await Promise.all(files.map((file) => import(file)));
  return modules.map((module) => module.default);
}
