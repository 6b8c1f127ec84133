import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { manifest } from '../../../setup/bundle.ts';
import { allCommands } from '../../../src/flags/catalogue.ts';
import type { MeshCommand } from '../../../src/flags/command.ts';
import { parseCommandLine } from '../../../src/flags/parse.ts';
import { referencePage } from '../../../src/flags/reference.ts';
import { formatFlagValue } from '../../../src/flags/values.ts';

const SNAPSHOT = 'test/golden/command-line.json';
const REFERENCE = 'docs/reference/cli.md';
const MANIFEST = 'oclif.manifest.json';

function describeCommand({ hidden, tables }: MeshCommand) {
  const flags = Object.entries(tables.flags).map(([name, spec]) => {
    const { type, char, aliases, env, refused } = spec;
    const choice = 'options' in spec ? { options: spec.options } : {};
    return [
      name,
      { type, default: formatFlagValue(spec), char, aliases, env, ...choice, refused: refused === undefined ? undefined : true },
    ];
  });
  const args = tables.args.map(({ name, required = false, variadic = false }) => ({ name, required, variadic }));
  return { ...(hidden ? { hidden } : {}), ...(args.length === 0 ? {} : { args }), flags: Object.fromEntries(flags) };
}

/** The committed file must hold the text; UPDATE_GOLDEN=1 writes it. */
function expectFile(path: string, text: string): void {
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(path, text);
  expect(
    readFileSync(path, 'utf8') === text,
    `${path} is not current: run npm run golden:update and look at the difference`,
  ).to.equal(true);
}

describe('the whole command line', () => {
  it('is as the snapshot says', async () => {
    const commands = await allCommands();
    const snapshot = Object.fromEntries(commands.map((command) => [command.id.replace(':', ' '), describeCommand(command)]));
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(SNAPSHOT, `${JSON.stringify(snapshot, null, 2)}\n`);
    expect(JSON.parse(JSON.stringify(snapshot))).to.deep.equal(JSON.parse(readFileSync(SNAPSHOT, 'utf8')));
  });

  it('is described by a current manifest', async () => {
    expectFile(MANIFEST, await manifest());
  });

  it('is described by a current reference page', async () => {
    expectFile(REFERENCE, referencePage(await allCommands()));
  });

  it('has defaults that its own parser accepts', async () => {
    for (const { id, tables } of await allCommands()) {
      for (const [name, spec] of Object.entries(tables.flags)) {
        const { refused: _, ...allowed } = spec;
        const values = Array.isArray(spec.default) ? spec.default : [formatFlagValue(spec)];
        const parsed = parseCommandLine(
          { [name]: allowed },
          [],
          values.map((value) => `--${name}=${value}`),
          {},
        );
        expect(parsed.ok, `${id} --${name}`).to.equal(true);
      }
    }
  });

  it('has examples that its own parser accepts', async () => {
    for (const { id, examples, tables } of await allCommands()) {
      const prefix = `<%= config.bin %> ${id.replace(':', ' ')}`;
      for (const example of examples) {
        expect(example.startsWith(prefix), example).to.equal(true);
        const argv = example
          .slice(prefix.length)
          .split(' ')
          .filter((word) => word !== '');
        const own = argv.at(-1) === '--help' ? ['--help'] : argv;
        expect(parseCommandLine(tables.flags, tables.args, own, {}), example).to.include({ ok: true });
      }
    }
  });
});
