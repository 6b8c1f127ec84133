/** The set-up, step by step, and what comes after it. Every step is skipped when it is up to date. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ensureBackendsForTests } from './backends/ensure.ts';
import { bundleStep } from './bundle.ts';
import { clusterDown, clusterUp } from './cluster/commands.ts';
import { ensureClusterForTests } from './cluster/ensure.ts';
import { envoyStep } from './envoy.ts';
import { goldenSpecs, UPDATE_VARIABLE } from './golden-specs.ts';
import { ensureGrpcAdapter } from './grpc-adapter.ts';
import { ensureGrpcGoClient } from './grpc-go.ts';
import { ensureOtlpReceiver } from './otlp-receiver.ts';
import { protoStep } from './proto.ts';
import { schemasStep } from './schemas.ts';
import { runStep } from './step.ts';
import { ensureSystemPackages } from './system.ts';
import { ensureZipkinForTests } from './zipkin.ts';

const BIOME = 'node_modules/@biomejs/cli-linux-x64/biome';
const MESH = 'bin/mesh';

/** The programs that npm packages bring come first, Node 24 among them. */
const env = { ...process.env, PATH: `${join(process.cwd(), 'node_modules/.bin')}:${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` };

/** Runs a program with this terminal; gives its exit code. */
function run(program: string, args: readonly string[], extra: Readonly<Record<string, string>> = {}): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...env, ...extra } });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGINT', forward).on('SIGTERM', forward);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : 1));
  });
}

async function build(): Promise<void> {
  await runStep(protoStep);
  await runStep(schemasStep);
  await runStep(bundleStep);
}

async function setUp(): Promise<void> {
  ensureSystemPackages();
  await build();
  await runStep(envoyStep(process.env));
}

async function ensureOtherBackends(): Promise<void> {
  ensureZipkinForTests(process.env);
  await ensureOtlpReceiver(process.env);
  await ensureGrpcAdapter(process.env);
}

async function inOrder(commands: readonly (readonly [string, readonly string[]])[]): Promise<number> {
  for (const [program, args] of commands) {
    const code = await run(program, args);
    if (code !== 0) return code;
  }
  return 0;
}

const CHECKS = [
  [BIOME, ['check', '--error-on-warnings']],
  ['node_modules/.bin/tsc', ['-p', '.']],
  ['node_modules/.bin/depcruise', ['--config', '.dependency-cruiser.cjs', '--output-type', 'err', 'src']],
] as const;

const mocha = (args: readonly string[]): Promise<number> => run('node_modules/.bin/mocha', args);

const TARGETS: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  setup: async () => {
    await setUp();
    await ensureGrpcGoClient(process.env);
    await ensureClusterForTests(process.env);
    await ensureBackendsForTests(process.env);
    await ensureOtherBackends();
    return 0;
  },
  build: async () => {
    await build();
    return 0;
  },
  start: async (args) => {
    await setUp();
    return run(MESH, ['lab', 'demo', ...args]);
  },
  check: async () => {
    await build();
    return inOrder(CHECKS);
  },
  test: async (args) => {
    await setUp();
    await ensureGrpcGoClient(process.env);
    await ensureClusterForTests(process.env);
    await ensureBackendsForTests(process.env);
    await ensureOtherBackends();
    const checked = await inOrder(CHECKS);
    if (checked !== 0) return checked;
    return mocha(['--reporter', 'setup/mocha-reporter.cjs', ...args]);
  },
  golden: async () => {
    await build();
    // Mocha adds the specs of its configuration file to those that it is given.
    return run('node_modules/.bin/mocha', ['--no-config', '--timeout', '20000', ...goldenSpecs('test/unit')], {
      [UPDATE_VARIABLE]: '1',
    });
  },
  'cluster:up': (args) => clusterUp(args, process.env),
  'cluster:down': async (args) => clusterDown(args, process.env),
  bench: async (args) => {
    await setUp();
    return run(process.execPath, ['bench/main.ts', ...args]);
  },
};

const [target = '', ...args] = process.argv.slice(2);
const action = TARGETS[target];
if (action === undefined) {
  process.stderr.write(`setup: there is no target "${target}"; it is one of ${Object.keys(TARGETS).join(', ')}\n`);
  process.exit(2);
}
try {
  process.exitCode = await action(args);
} catch (error) {
  process.stderr.write(`\nsetup: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
