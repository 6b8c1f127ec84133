/** `npm run bench [-- NAME...]`: prints figures, asserts nothing. A figure of a shared machine is worth what its spread allows. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { benchDiscovery } from './discovery.ts';
import { benchGrpc } from './grpc.ts';
import { benchIdle } from './idle-components.ts';
import { benchLab } from './lab.ts';
import { benchStartUp } from './start-up.ts';

const BENCHES: Readonly<Record<string, () => Promise<void>>> = {
  'start-up': benchStartUp,
  grpc: benchGrpc,
  discovery: benchDiscovery,
  certificates: () => script('bench/certificates.ts'),
  'ca-secrets': () => script('bench/ca-secrets.ts'),
  injection: () => script('bench/injection.ts'),
  registry: () => script('bench/registry.ts'),
  mixs: () => script('bench/mixs.ts'),
  idle: benchIdle,
  lab: benchLab,
};

const chosen = process.argv.slice(2);
const unknown = chosen.find((name) => BENCHES[name] === undefined);
if (unknown !== undefined) {
  process.stderr.write(`bench: there is no bench "${unknown}"; it is one of ${Object.keys(BENCHES).join(', ')}\n`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(BENCHES)) {
  if (chosen.length === 0 || chosen.includes(name)) await bench();
}

/** One that measures a whole process runs in a process of its own. */
async function script(path: string): Promise<void> {
  const child = spawn(process.execPath, [path], { stdio: 'inherit' });
  await once(child, 'exit');
}
