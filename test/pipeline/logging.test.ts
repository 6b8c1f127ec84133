import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../harness/free-port.ts';
import { MeshProcess, runMesh } from '../harness/mesh-process.ts';

describe('logging flags of real components', () => {
  let dir: string;
  let running: MeshProcess | undefined;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-logging-'));
    mkdirSync(join(dir, 'manifests'));
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
    rmSync(dir, { recursive: true });
  });

  const discovery = async (...flags: string[]) => {
    const monitoring = await freePort();
    const ports = ['--port', '0', '--grpcAddr', '127.0.0.1:0', '--monitoringPort', String(monitoring)];
    const args = ['pilot-discovery', 'discovery', '--orchconfig', join(dir, 'manifests'), ...ports, ...flags];
    const page = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${monitoring}${path}`, init);
    return { args, page };
  };
  const answers = async (ask: () => Promise<Response>): Promise<Response> => {
    for (;;) {
      const response = await ask().catch(() => undefined);
      if (response !== undefined) return response;
      await new Promise(setImmediate);
    }
  };

  describe('pilot-agent version', () => {
    it('logs where it is told to, and prints what it prints', async () => {
      const file = join(dir, 'version.log');
      const flags = ['--log_output_level', 'debug', '--log_as_json', '--log_caller', 'default', '--log_target', file];
      const { code, stdout } = await runMesh(['pilot-agent', 'version', '--short', ...flags]);
      expect([code, stdout.split('\n').length]).to.deep.equal([0, 2]);
      const line = JSON.parse(readFileSync(file, 'utf8'));
      expect(line).to.include({ level: 'debug', scope: 'default', message: 'printed the version' });
      expect(line.caller).to.match(/^flags\/version-command\.ts:\d+$/);
      expect(statSync(file).mode & 0o137).to.equal(0);
    });

    const WRONG: readonly (readonly [flags: readonly string[], code: number, message: string])[] = [
      [
        ['--log_output_level', 'defualt:info'],
        2,
        '--log_output_level: there is no log scope "defualt"; the only scope is default; did you mean "default"?',
      ],
      [
        ['--log_stacktrace_level', 'default:fatal'],
        2,
        '--log_stacktrace_level: "default:fatal" is not <scope>:<level> with a level of debug, info, warn, error, none',
      ],
      [['--log_rotate_max_age', '-1'], 2, '--log_rotate_max_age: "-1" is out of range from 0 to 9007199254740991'],
      [
        ['--log_rotate', '/nowhere/mesh.log'],
        1,
        '--log_rotate: "/nowhere/mesh.log" cannot be written: there is no directory /nowhere',
      ],
    ];
    for (const [flags, exit, message] of WRONG)
      it(`refuses ${flags.join(' ')}`, async () => {
        const { code, stdout, stderr } = await runMesh(['pilot-agent', 'version', ...flags]);
        expect([code, stdout]).to.deep.equal([exit, '']);
        expect(stderr)
          .to.match(/^error: [^\n]+\n$/)
          .and.include(message);
      });
  });

  describe('pilot-discovery', () => {
    it('has levels by scope, which the monitoring port changes, and loses no line at its end', async () => {
      const file = join(dir, 'mesh.log');
      const { args, page } = await discovery(
        '--log_output_level',
        'default:info,ads:none',
        '--log_target',
        'stderr',
        '--log_target',
        file,
      );
      running = new MeshProcess(args);
      await running.until(() => running?.stderr.includes('serving discovery') === true);
      expect(await (await page('/scopez')).json()).to.deep.equal([
        { name: 'default', outputLevel: 'info', stackTraceLevel: 'none', logCaller: false },
        { name: 'ads', outputLevel: 'none', stackTraceLevel: 'none', logCaller: false },
      ]);
      const change = { outputLevel: 'info', stackTraceLevel: 'info', logCaller: true };
      expect((await page('/scopez/default', { method: 'PUT', body: JSON.stringify(change) })).status).to.equal(200);
      const refused = await page('/scopez/default', { method: 'POST', body: '{"outputLevel":"loud"}' });
      expect(`${refused.status} ${await refused.text()}`).to.match(/^400 outputLevel: "loud" is not a level/);
      expect(await running.stop()).to.equal(0);
      const log = readFileSync(file, 'utf8');
      expect(log).to.match(/\tinfo\tdefault\tstopping\tcaller=pilot-discovery\/\w+\.ts:\d+\n {4}at /);
      expect(running.stderr).to.equal(log);
      expect(running.stdout).to.equal('');
    });

    it('names the scopes it has', async () => {
      const { args } = await discovery('--log_output_level', 'adz:debug', '--log_caller', 'ads,xds');
      const { code, stderr } = await runMesh(args);
      expect(code).to.equal(2);
      expect(stderr).to.include('there is no log scope "adz"; the scopes are default, ads; did you mean "ads"?');
      expect(stderr).to.include('--log_caller: there is no log scope "xds"');
    });

    it('outlives a full disk, and goes on logging when there is room again', async () => {
      // Linux's /dev/full answers every write as a full disk does.
      const file = join(dir, 'mesh.log');
      symlinkSync('/dev/full', file);
      const { args, page } = await discovery('--log_target', file);
      running = new MeshProcess(args);
      await running.until(() => running?.stderr.includes('\n') === true);
      expect(running.stderr).to.match(
        /^error: --log_target ".*mesh\.log" cannot be written, its lines are lost until it can: ENOSPC.*\n$/,
      );
      expect((await answers(() => page('/metrics'))).status).to.equal(200);
      unlinkSync(file);
      expect(await running.stop()).to.equal(0);
      expect(readFileSync(file, 'utf8')).to.match(/\tinfo\tdefault\tstopping\n$/);
      expect(running.stderr).to.match(/\nwarning: --log_target ".*mesh\.log" is written again; lines lost: \d+\n$/);
    });

    it('outlives an output that cannot be written', async () => {
      const { args, page } = await discovery();
      running = new MeshProcess(args, { stdoutFile: '/dev/full' });
      await running.until(() => running?.stderr.includes('\n') === true);
      expect((await answers(() => page('/metrics'))).status).to.equal(200);
      expect(await running.stop()).to.equal(1);
      expect(running.stderr).to.match(/^error: standard output cannot be written, it is lost until it can: ENOSPC.*\n$/);
    });
  });

  describe('mesh_ca', () => {
    it('rotates its log, the name leading to the file in use', async () => {
      const file = join(dir, 'ca.log');
      const rotation = ['--log_rotate', file, '--log_rotate_max_size', '1', '--log_rotate_max_backups', '2'];
      const flags = ['--orch-config', join(dir, 'manifests'), '--grpc-port', '0', '--self-signed-ca', ...rotation];
      running = new MeshProcess(['mesh_ca', ...flags, '--log_as_json']);
      await running.until(() => running?.stdout.includes('no gRPC requests are served') === true);
      expect(await running.stop()).to.equal(0);
      expect(lstatSync(file).isSymbolicLink()).to.equal(true);
      expect(readFileSync(file, 'utf8')).to.equal(running.stdout);
      expect(
        running.stdout
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line).scope),
      ).to.include('default');
      expect(readdirSync(dir).filter((name) => name.startsWith('ca-'))).to.have.length(1);
      const { code, stderr } = await runMesh(['mesh_ca', ...flags, '--log_target', file]);
      expect([code, stderr]).to.deep.equal([
        2,
        `error: mesh mesh_ca: --log_rotate: "${file}" is a --log_target too; give it to one of them\n`,
      ]);
    });
  });
});
