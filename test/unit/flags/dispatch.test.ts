import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { COMPONENTS } from '../../../src/flags/components.ts';
import { dispatch, findSubcommand } from '../../../src/flags/dispatch.ts';
import { loggingFlags } from '../../../src/flags/logging.ts';

const target = (line: string) => dispatch(['/usr/bin/node', ...line.split(' ')]);

describe('dispatch', () => {
  it('finds the component in the first word', () => {
    expect(target('/usr/bin/mesh pilot-agent proxy --id x')).to.deep.equal({
      kind: 'component',
      component: 'pilot-agent',
      program: 'mesh pilot-agent',
      words: ['proxy', '--id', 'x'],
    });
  });

  it('finds the component in the name of a symlink', () => {
    expect(target('/usr/local/bin/mesh_ca --self-signed-ca')).to.deep.equal({
      kind: 'component',
      component: 'mesh_ca',
      program: 'mesh_ca',
      words: ['--self-signed-ca'],
    });
  });

  it('takes any other name for mesh', () => {
    expect(target('/opt/mesh-0.1 lab up')).to.include({ kind: 'component', component: 'lab' });
  });

  it('knows help, version and the plugins', () => {
    expect(target('mesh')).to.deep.equal({ kind: 'help' });
    expect(target('mesh -h')).to.deep.equal({ kind: 'help' });
    expect(target('mesh --version')).to.deep.equal({ kind: 'version' });
    expect(target('mesh help lab up')).to.deep.equal({ kind: 'plugin', words: ['help', 'lab', 'up'] });
  });

  it('names the nearest component', () => {
    expect(target('mesh pilot-agnet proxy')).to.deep.equal({
      kind: 'unknown',
      message: 'mesh: there is no component "pilot-agnet"; did you mean "pilot-agent"?',
    });
    expect(target('mesh toString')).to.include({ kind: 'unknown' });
  });
});

const SUBCOMMANDS: readonly (readonly [words: string, kind: string, rest: readonly string[]])[] = [
  ['discovery --port 1', 'discovery', ['--port', '1']],
  ['--log_as_json discovery', 'discovery', ['--log_as_json']],
  ['--log_target stdout discovery --port 1', 'discovery', ['--log_target', 'stdout', '--port', '1']],
  ['--log_target=stdout discovery', 'discovery', ['--log_target=stdout']],
  ['--log_target discovery version', 'version', ['--log_target', 'discovery']],
  ['discovery version', 'discovery', ['version']],
  ['nothing discovery', 'root', ['nothing', 'discovery']],
  ['-- discovery', 'root', ['--', 'discovery']],
  ['', 'root', []],
];

describe('subcommand', () => {
  for (const [line, name, rest] of SUBCOMMANDS) {
    it(`of "${line}" is ${name}`, () => {
      const found = findSubcommand('pilot-discovery', line === '' ? [] : line.split(' '), loggingFlags);
      expect(found).to.deep.equal(name === 'root' ? { kind: 'root', args: rest } : { kind: 'found', name, args: rest });
    });
  }

  it('help is the help of what follows', () => {
    expect(findSubcommand('lab', ['help', 'up'], {})).to.deep.equal({ kind: 'help', words: ['up'] });
  });
});

describe('components', () => {
  it('are the folders of src/commands, with their files', () => {
    const folders = readdirSync('src/commands').map((folder) => {
      const files = readdirSync(`src/commands/${folder}`).map((file) => file.replace(/\.ts$/, ''));
      return [folder, files.filter((file) => file !== 'index').sort()] as const;
    });
    const listed = Object.entries(COMPONENTS).map(([name, { subcommands }]) => [name, [...subcommands]] as const);
    expect(Object.fromEntries(folders)).to.deep.equal(Object.fromEntries(listed));
  });
});
