/**
 * Runs a component as a process of its own, without the command line: its options come as JSON.
 * `node component-process.ts <main module> <export> <flags module> <export> <options as JSON>`
 */
import { fileURLToPath } from 'node:url';
import type { FlagTable } from '../../src/flags/table.ts';
import { processHost } from '../../src/io/process-host.ts';
import { MeshError } from '../../src/lib/errors.ts';

/** The arguments that make Node run a component with these options over its defaults. */
export function componentArguments(
  component: string,
  run: string,
  flags: string,
  options: Readonly<Record<string, unknown>>,
): string[] {
  return [fileURLToPath(import.meta.url), `${component}/main.ts`, run, `${component}/flags.ts`, flags, JSON.stringify(options)];
}

async function main(): Promise<void> {
  const [mainModule, runName, flagsModule, flagsName, json] = process.argv.slice(2);
  const host = processHost(process);
  const table: FlagTable = (await import(`../../src/${flagsModule}`))[String(flagsName)];
  const defaults = Object.entries(table).map(([name, flag]) => [name, flag.default]);
  const given = JSON.parse(String(json));
  const { [String(runName)]: run } = await import(`../../src/${mainModule}`);
  try {
    process.exitCode = await run(
      { options: { ...Object.fromEntries(defaults), ...given }, given: new Set(Object.keys(given)), args: [] },
      host,
    );
  } catch (thrown) {
    const error = MeshError.from(thrown);
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = error.code === 'usage' ? 2 : 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
