import { PassThrough, Writable } from 'node:stream';
import { expect } from 'chai';
import { meshCommand, type Run } from '../../../src/flags/command.ts';
import { spokenAs } from '../../../src/flags/spoken-name.ts';
import { flagTable } from '../../../src/flags/table.ts';
import type { Host } from '../../../src/io/host.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { namesFor } from '../../../src/lib/names.ts';

const table = flagTable({ port: { type: 'uint16', default: 80, summary: 'a port' } });

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

async function execute(run: Run<typeof table>, argv: readonly string[] = []) {
  const stderr = new Sink();
  const host: Host = {
    env: {},
    stdin: new PassThrough(),
    stdout: new Sink(),
    stderr,
    cwd: '/',
    signal: new AbortController().signal,
    names: namesFor('mesh.io'),
    now: () => new Date(0),
  };
  const command = meshCommand({ id: ['lab', 'up'], summary: '', examples: [''], flags: table, run: async () => run });
  const outcome = await command.execute(argv, 'mesh lab up', host);
  return { outcome, stderr: stderr.text };
}

const throwing =
  (error: unknown): Run<typeof table> =>
  async () => {
    throw error;
  };

describe('command', () => {
  it('hands the component its options and passes its exit code on', async () => {
    const { outcome } = await execute(async ({ options }) => options.port, ['--port', '7']);
    expect(outcome).to.deep.equal({ kind: 'exit', code: 7 });
  });

  it('prints a failure as one line and exits 1', async () => {
    const { outcome, stderr } = await execute(throwing(new MeshError('unavailable', 'the store\n  is gone\n')));
    expect(outcome).to.deep.equal({ kind: 'exit', code: 1 });
    expect(stderr).to.equal('error: the store; is gone\n');
  });

  it('exits 1 for what is not an error of ours', async () => {
    expect(await execute(throwing(new TypeError('x is undefined')))).to.deep.equal({
      outcome: { kind: 'exit', code: 1 },
      stderr: 'error: x is undefined\n',
    });
  });

  it('exits 2 for a wrong use that only the component sees', async () => {
    const { outcome, stderr } = await execute(throwing(new MeshError('usage', '--port: 80 is taken')));
    expect(outcome).to.deep.equal({ kind: 'exit', code: 2 });
    expect(stderr).to.equal('error: mesh lab up: --port: 80 is taken\n');
  });

  it('does not load the component for a wrong command line or for help', async () => {
    const run = throwing(new Error('loaded'));
    expect((await execute(run, ['--port', 'x'])).stderr).not.to.include('loaded');
    expect((await execute(run, ['--help'])).outcome).to.deep.equal({ kind: 'help' });
  });
});

describe('help', () => {
  it('names the program as it was called', () => {
    const text = '$ mesh lab up, mesh lab down';
    expect(spokenAs(['node', '/bin/lab', 'up'], text)).to.equal('$ lab up, lab down');
    expect(spokenAs(['node', '/bin/mesh', 'lab', 'up'], text)).to.equal(text);
  });
});
