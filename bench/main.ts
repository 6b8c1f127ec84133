/** `npm run bench [NAME]`: prints figures, asserts nothing. A figure of a shared machine is worth what its spread allows. */
import { benchGrpc } from './grpc.ts';
import { benchLab } from './lab.ts';
import { benchStartUp } from './start-up.ts';

const BENCHES: Readonly<Record<string, () => Promise<void>>> = { 'start-up': benchStartUp, grpc: benchGrpc, lab: benchLab };

const [chosen] = process.argv.slice(2);
if (chosen !== undefined && BENCHES[chosen] === undefined) {
  process.stderr.write(`bench: there is no bench "${chosen}"; it is one of ${Object.keys(BENCHES).join(', ')}\n`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(BENCHES)) {
  if (chosen === undefined || chosen === name) await bench();
}
