/** What each component takes when nothing happens, run by bin/mesh outside of a lab, on the manifests of the reference scenario. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_INJECTION_CONFIG } from '../src/injection/default-config.ts';
import { validityFrom } from '../src/io/x509/template.ts';
import { seconds } from '../src/lib/duration.ts';
import { keyPemOf, pemOf } from '../test/harness/authority-files.ts';
import { DAY, leafTemplate, makeRoot, signLeaf } from '../test/harness/certificates.ts';
import { freePort } from '../test/harness/free-port.ts';
import { printRow } from './figures.ts';
import { residentMiB } from './resident.ts';

/** Start-up garbage is collected by then. */
const SETTLE_MS = 12_000;
const INJECTOR = 'mesh-sidecar-injector.mesh-system.svc';

interface Component {
  readonly name: string;
  readonly words: readonly string[];
  /** What its log says when it serves. */
  readonly ready: string;
}

/** Prints the resident memory of one component after the other. */
export async function benchIdle(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'mesh-bench-idle-'));
  try {
    for (const component of await components(dir)) {
      const child = await start(component);
      await delay(SETTLE_MS);
      printRow(`idle memory, bin/mesh ${component.name}`, `${residentMiB(child.pid ?? 0).toFixed(0)} MiB`);
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function components(dir: string): Promise<readonly Component[]> {
  const [empty, scenario] = [join(dir, 'empty'), join(dir, 'scenario')];
  mkdirSync(empty);
  cpSync('examples/reference', scenario, { recursive: true });
  const discovery = async (store: string): Promise<readonly string[]> => [
    ...['pilot-discovery', 'discovery', `--orchconfig=${store}`, `--port=${await freePort()}`],
    ...[`--grpcAddr=127.0.0.1:${await freePort()}`, `--monitoringPort=${await freePort()}`],
  ];
  const authority = ['mesh_ca', '--self-signed-ca', `--orch-config=${scenario}`];
  const liveness = [
    '--liveness-probe-path',
    join(dir, 'alive'),
    '--liveness-probe-interval',
    '2s',
    '--probe-check-interval',
    '1s',
  ];
  const [serving, certificates] = ['serving discovery', 'serving certificate requests'];
  return [
    { name: 'pilot-discovery, an empty store', words: await discovery(empty), ready: serving },
    { name: 'pilot-discovery', words: await discovery(scenario), ready: serving },
    { name: 'mesh_ca', words: [...authority, `--grpc-port=${await freePort()}`], ready: certificates },
    {
      name: 'mesh_ca that checks itself',
      words: [...authority, `--grpc-port=${await freePort()}`, ...liveness],
      ready: certificates,
    },
    { name: 'sidecar-injector', words: await injectorWords(dir, scenario), ready: 'serving the injection webhook' },
  ];
}

async function injectorWords(dir: string, store: string): Promise<readonly string[]> {
  const validity = validityFrom(new Date(), seconds(DAY));
  const root = await makeRoot('ec-p256', validity);
  const leaf = await signLeaf(root, leafTemplate(root.pair, { ...validity, names: [{ type: 'dns', value: INJECTOR }] }));
  const files = {
    injectConfig: DEFAULT_INJECTION_CONFIG,
    meshConfig: '{}',
    tlsCertFile: leaf.toString(),
    tlsKeyFile: keyPemOf(root),
    caCertFile: pemOf(root),
  };
  const words = Object.entries(files).map(([flag, text]) => {
    writeFileSync(join(dir, flag), text);
    return `--${flag}=${join(dir, flag)}`;
  });
  return ['sidecar-injector', ...words, `--orchconfig=${store}`, `--port=${await freePort()}`];
}

async function start({ name, words, ready }: Component): Promise<ChildProcess> {
  const child = spawn('bin/mesh', words, { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}`)));
    child.stdout.on('data', (chunk) => {
      if (String(chunk).includes(ready)) resolve();
    });
  });
  return child;
}
