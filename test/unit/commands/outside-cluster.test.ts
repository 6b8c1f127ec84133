/** Components that need an orchestrator, run outside of one without the path to it. */
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import authority from '../../../src/commands/mesh_ca/index.ts';
import analyze from '../../../src/commands/meshctl/analyze.ts';
import apply from '../../../src/commands/meshctl/apply.ts';
import create from '../../../src/commands/meshctl/create.ts';
import remove from '../../../src/commands/meshctl/delete.ts';
import explain from '../../../src/commands/meshctl/explain.ts';
import get from '../../../src/commands/meshctl/get.ts';
import install from '../../../src/commands/meshctl/install.ts';
import replace from '../../../src/commands/meshctl/replace.ts';
import uninstall from '../../../src/commands/meshctl/uninstall.ts';
import discovery from '../../../src/commands/pilot-discovery/discovery.ts';
import injector from '../../../src/commands/sidecar-injector/index.ts';
import { namesFor } from '../../../src/lib/names.ts';

const POLICY =
  'apiVersion: authentication.mesh.io/v1alpha1\nkind: Policy\nmetadata: {name: default, namespace: foo}\nspec: {peers: [{mtls: {}}]}\n';

type Command = Pick<typeof get, 'execute'>;

const CASES: readonly (readonly [title: string, command: Command, flag: string, argv: readonly string[]])[] = [
  ['pilot-discovery discovery', discovery, '--orchconfig', []],
  ['sidecar-injector', injector, '--orchconfig', []],
  ['mesh_ca', authority, '--orch-config', ['--self-signed-ca']],
  ['meshctl get', get, '--orchconfig', ['policies', '-n', 'foo']],
  ['meshctl create', create, '--orchconfig', ['-f', '-']],
  ['meshctl apply', apply, '--orchconfig', ['-f', '-']],
  ['meshctl replace', replace, '--orchconfig', ['-f', '-']],
  ['meshctl delete', remove, '--orchconfig', ['policy', 'default', '-n', 'foo']],
  ['meshctl explain', explain, '--orchconfig', ['httpbin.foo:8000']],
  ['meshctl analyze', analyze, '--orchconfig', []],
  ['meshctl install', install, '--orchconfig', ['--apply']],
  ['meshctl uninstall', uninstall, '--orchconfig', []],
];

/** Runs a command as in a shell of a machine that is in no cluster. */
async function run(component: string, command: Command, argv: readonly string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const stop = new AbortController();
  const host = {
    env: {},
    stdin: Readable.from([POLICY]),
    stdout,
    stderr,
    cwd: process.cwd(),
    signal: stop.signal,
    names: namesFor('mesh.io'),
    now: () => new Date(0),
  };
  const outcome = await command.execute(argv, component, host);
  stdout.end();
  stderr.end();
  return { outcome, printed: await text(stdout), said: await text(stderr) };
}

describe('outside a cluster, without the path of its client configuration,', () => {
  for (const [title, command, flag, argv] of CASES) {
    it(`${title} refuses to run and names the flag`, async () => {
      const [component = ''] = title.split(' ');
      const { outcome, printed, said } = await run(component, command, argv);
      expect(outcome).to.deep.equal({ kind: 'exit', code: 2 });
      expect(said).to.match(
        new RegExp(`^error: ${component}: ${flag}( \\(or MESH_ORCHCONFIG\\))? is required outside a cluster: give a kubeconfig`),
      );
      expect(printed).to.equal('');
    });
  }
});
