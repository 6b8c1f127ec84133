import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';

const MESH = resolve('bin/mesh');
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

/** Runs with a PATH that has no Node of ours: bin/mesh must find Node 24 itself. */
function run(program: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin', HOME: tmpdir() },
  });
  return { status, stdout, stderr };
}

describe('bin/mesh', () => {
  let dir: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-bin-'));
    symlinkSync(MESH, join(dir, 'pilot-discovery'));
  });
  after(() => rmSync(dir, { recursive: true }));

  it('runs a component by its name', () => {
    const { status, stdout } = run(MESH, 'mesh_ca', 'version');
    expect(status).to.equal(0);
    expect(stdout.split('\n').map((line) => line.split(':')[0])).to.deep.equal([
      'Version',
      'GitRevision',
      'BuildStatus',
      'NodeVersion',
      '',
    ]);
    expect(stdout).to.match(/^NodeVersion: v2[4-9]\./m);
  });

  it('logs with the positions of its sources, into files that are rotated', () => {
    const log = join(dir, 'mesh.log');
    const level = ['--log_output_level', 'debug', '--log_caller', 'default', '--log_stacktrace_level', 'debug'];
    expect(run(MESH, 'mesh_ca', 'version', ...level, '--log_rotate', log)).to.include({ status: 0, stderr: '' });
    expect(readFileSync(log, 'utf8')).to.match(
      /\tdebug\tdefault\tprinted the version\tcaller=flags\/version-command\.ts:\d+ .*\n {4}at src\/flags\/version-command\.ts:\d+/,
    );
  });

  it('runs a component through a symlink', () => {
    const { status, stdout, stderr } = run(join(dir, 'pilot-discovery'), 'version', '-s');
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
    expect(stdout.startsWith(`${version}-`)).to.equal(true);
    expect(stdout.trim().split('\n')).to.have.length(1);
  });

  it('speaks of itself by the name it was called by', () => {
    const linked = run(join(dir, 'pilot-discovery'), 'discovery', '--help');
    expect(linked.status).to.equal(0);
    expect(linked.stdout).to.include('$ pilot-discovery discovery [FLAGS]').and.not.include('mesh pilot-discovery');
    expect(run(MESH, 'pilot-discovery', 'help', 'discovery').stdout).to.include('$ mesh pilot-discovery discovery [FLAGS]');
    expect(run(join(dir, 'pilot-discovery'), 'discovery', '--por', '1').stderr).to.equal(
      'error: pilot-discovery discovery: --por: there is no such flag; did you mean --port?\n',
    );
  });

  it('lists the components without arguments', () => {
    const { status, stdout } = run(MESH);
    expect(status).to.equal(0);
    for (const component of ['pilot-agent', 'pilot-discovery', 'mesh_ca', 'meshctl', 'mesh-init', 'lab'])
      expect(stdout).to.include(component);
  });

  it('exits 2 for a wrong command line and 1 for a failure, with one line', () => {
    for (const args of [['nothing'], ['lab', 'nothing'], ['mesh_ca', '--grpc-port', 'x'], ['mesh_ca', 'probe']]) {
      const { status, stderr } = run(MESH, ...args);
      expect(status, args.join(' ')).to.equal(2);
      expect(stderr).to.match(/^error: .*\n$/);
    }
    const failed = run(MESH, 'mesh_ca', 'probe', '--probe-path', join(dir, 'none'), '--interval', '1s');
    expect(failed.status).to.equal(1);
    expect(failed.stderr).to.match(/^error: .*\n$/);
  });

  it('answers version and probe as its other entry does, which everybody else gets', () => {
    const alive = join(dir, 'alive');
    writeFileSync(alive, '');
    const lines = [
      ['mesh_ca', 'version'],
      ['lab', 'version', '--short'],
      ['pilot-discovery', 'version', '--help'],
      ['mesh_ca', 'probe', '--probe-path', alive, '--interval', '1h'],
      ['mesh_ca', 'probe', '--probe-path', join(dir, 'none'), '--interval', '1h'],
      ['mesh_ca', 'probe', '--interval', 'x'],
      ['sidecar-injector', 'probe', '-x'],
      ['lab', 'probe'],
      ['probe'],
    ];
    for (const words of lines) {
      expect(run(MESH, ...words), words.join(' ')).to.deep.equal(run(process.execPath, resolve('dist/mesh.js'), ...words));
    }
  });

  it('fails when what it prints cannot be written, and not when nobody wants to read it', () => {
    const full = openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(MESH, ['mesh_ca', 'version'], { stdio: ['ignore', full, 'pipe'], encoding: 'utf8' });
    closeSync(full);
    expect(status).to.equal(1);
    expect(stderr).to.match(/^error: standard output cannot be written, .*\n$/);
    const unread = spawnSync('sh', ['-c', `"${MESH}" mesh_ca version | :`], { encoding: 'utf8' });
    expect(unread).to.include({ status: 0, stderr: '' });
  });

  it('prints everything into a pipe that does not block, whose reader is slow', () => {
    // The reader makes the end that it shares with bin/mesh non-blocking, fills the pipe, and is slow.
    const script = `
import fcntl, os, subprocess, sys, time
r, w = os.pipe()
fcntl.fcntl(w, fcntl.F_SETFL, os.O_NONBLOCK)
filled = 0
try:
  while True: filled += os.write(w, b'.' * 4096)
except BlockingIOError: pass
child = subprocess.Popen([sys.argv[1], 'mesh_ca', 'version'], stdout=w)
os.close(w)
time.sleep(0.3)
got = b''
while chunk := os.read(r, 65536): got += chunk
print(child.wait(), got[filled:].decode().split(':')[0], got[filled:].decode().count('\\n'))`;
    const { stdout } = spawnSync('python3', ['-c', script, MESH], { encoding: 'utf8' });
    expect(stdout).to.equal('0 Version 4\n');
  });

  it('ends quietly when its reader goes away', async () => {
    const child = spawn(MESH, ['lab', '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk;
    });
    await once(child, 'close');
    expect(stderr).to.equal('');
  });
});
