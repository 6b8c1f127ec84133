import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { DEFAULT_DOMAIN, namesFor } from '../src/lib/names.ts';
import { kindsFor } from '../src/model/kinds.ts';
import type { ObjectStore } from '../src/sources/store/object-store.ts';
import { openStore } from '../src/sources/store/open.ts';
import { printFigures } from './figures.ts';
import { printIdleMemory } from './idle.ts';

const STARTS = 3;
const CHANGES = 50;
const names = namesFor(DEFAULT_DOMAIN);
const kinds = kindsFor(names);
const mesh = async (...args: readonly string[]): Promise<void> => void (await promisify(execFile)('bin/mesh', [...args]));

/** The lab's start with the workloads of the reference scenario, then policy changes as a client without sidecar meets them. */
export async function benchLab(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'mesh-bench-'));
  try {
    const starts: number[] = [];
    for (let run = 0; run < STARTS; run += 1) {
      await mesh('lab', 'down', '--dir', dir);
      const started = performance.now();
      await mesh('lab', 'up', '--dir', dir);
      await mesh('lab', 'apply', '--dir', dir, '-f', 'examples/reference');
      starts.push(performance.now() - started);
    }
    await printIdleMemory(dir);
    printFigures('lab up + 11 pods of the scenario, until ready', starts);
    printFigures('policy change -> new connections follow it', await policyChanges(dir));
  } finally {
    await mesh('lab', 'down', '--dir', dir);
    await rm(dir, { recursive: true, force: true });
  }
}

/** Opens a connection of its own for each request, one after the other, and prints `<milliseconds since 1970> <1|0>`. */
const PROBE = `
const http = require('node:http');
const probe = () => new Promise((done) => {
  const at = Date.now();
  const request = http.get({ host: 'httpbin.foo', port: 8000, path: '/ip', agent: false, timeout: 2000 }, (response) => {
    response.resume().on('end', () => done(at + ' 1'));
  });
  request.on('timeout', () => request.destroy()).on('error', () => done(at + ' 0'));
});
(async () => { for (;;) { console.log(await probe()); await new Promise((r) => setTimeout(r, 2)); } })();
`;

/** Milliseconds from the write of a policy until the first request, by when it was sent, that it decides. */
async function policyChanges(dir: string): Promise<readonly number[]> {
  const store = openStore(join(dir, 'store'), {
    flag: '--dir',
    kinds,
    env: {},
    cwd: '/',
    now: () => new Date(),
    newUid: randomUUID,
  });
  const node = [process.execPath, '-e', PROBE];
  const child = spawn('bin/mesh', ['lab', 'exec', '--dir', dir, 'sleep.legacy', '--', ...node], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const answers = createInterface({ input: child.stdout });
  const until = async (admitted: '0' | '1'): Promise<number> => {
    for (;;) {
      const [line] = await once(answers, 'line');
      const [at, answer] = String(line).split(' ');
      if (answer === admitted) return Number(at);
    }
  };
  try {
    await until('1');
    const times: number[] = [];
    for (let change = 0; change < CHANGES; change += 1) times.push(await measure(store, change % 2 === 0, until));
    return times;
  } finally {
    child.kill();
    await store.close();
  }
}

async function measure(store: ObjectStore, strict: boolean, until: (admitted: '0' | '1') => Promise<number>): Promise<number> {
  const written = Date.now();
  if (strict) await store.create(STRICT);
  else await store.delete({ kind: kinds.policy, namespace: 'foo', name: 'bench' });
  return (await until(strict ? '0' : '1')) - written;
}

const STRICT = {
  apiVersion: names.authentication.apiVersion,
  kind: 'Policy',
  metadata: { name: 'bench', namespace: 'foo' },
  spec: { peers: [{ mtls: {} }] },
};
