import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printFigures } from './figures.ts';

const RUNS = 20;

/** How long the commands take that scripts and probes run often. */
export async function benchStartUp(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'mesh-bench-'));
  const alive = join(dir, 'alive');
  writeFileSync(alive, '');
  measure('mesh pilot-discovery version', ['pilot-discovery', 'version']);
  measure('mesh mesh_ca probe', ['mesh_ca', 'probe', '--probe-path', alive, '--interval', '1h']);
  rmSync(dir, { recursive: true });
}

function measure(name: string, args: readonly string[]): void {
  spawnSync('bin/mesh', args);
  const times = Array.from({ length: RUNS }, () => {
    const started = performance.now();
    spawnSync('bin/mesh', args);
    return performance.now() - started;
  });
  printFigures(name, times);
}
