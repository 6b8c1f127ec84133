import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../test/harness/free-port.ts';
import { load, type Measured } from './load/run.ts';
import { mixerMessage, rulesFor } from './mixs-messages.ts';

const CONNECTIONS = 4;
const AT_ONCE = 64;
const WARM_UP_MS = 2_000;

export interface MixsServer {
  readonly pid: number;
  /** Calls of one method about the last of the services, as fast as answers come or so many a second. */
  measure(kind: 'check' | 'report', measureMs: number, perSecond?: number): Promise<Measured>;
  /** Of its page of metrics: a sample's value. */
  metric(sample: string): Promise<number>;
  stop(): Promise<void>;
}

/** A real `mixs server` of the built program in `root`, with rules for so many services. */
export async function startMixs(services: number, root = '.'): Promise<MixsServer> {
  const dir = mkdtempSync(join(tmpdir(), 'mesh-bench-mixs-'));
  writeFileSync(join(dir, 'rules.yaml'), rulesFor(services));
  const [port, monitoringPort] = [await freePort(), await freePort()];
  const words = ['mixs', 'server', `--configStoreURL=fs://${dir}`, `--port=${port}`, `--monitoringPort=${monitoringPort}`];
  const child = spawn(join(root, 'bin/mesh'), words, {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await serving(child);
  const pid = child.pid ?? Number.NaN;
  return {
    pid,
    measure: (kind, measureMs, perSecond) =>
      load(pid, {
        target: { protocol: 'gRPC', port, path: `/istio.mixer.v1.Mixer/${kind === 'check' ? 'Check' : 'Report'}`, fields: [] },
        connections: CONNECTIONS,
        messages: [Buffer.from(mixerMessage(services - 1, kind)).toString('base64')],
        load: perSecond === undefined ? { atOnce: AT_ONCE } : { perSecond },
        warmUpMs: WARM_UP_MS,
        measureMs,
      }),
    metric: async (sample) => {
      const page = await (await fetch(`http://127.0.0.1:${monitoringPort}/metrics`)).text();
      const line = page.split('\n').find((text) => text.startsWith(`${sample} `));
      return Number(line?.slice(sample.length + 1));
    },
    stop: async () => {
      child.kill('SIGTERM');
      await once(child, 'exit');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function serving(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`mixs ended with ${code}`)));
    child.stdout?.on('data', (chunk) => {
      if (String(chunk).includes('serving')) resolve();
    });
  });
}
