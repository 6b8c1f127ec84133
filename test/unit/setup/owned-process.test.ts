import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { identify, isRunning, type ProcessIdentity } from '../../../src/lab/process-identity.ts';

const MODULE = fileURLToPath(new URL('../../../setup/owned-process.ts', import.meta.url));
/** Starts a shell that starts a sleep, and tells the shell's process id and the sleep's. */
const SET_UP = `
import { startOwned } from ${JSON.stringify(MODULE)};
const child = startOwned('sh', ['-c', 'sleep 1000 & echo $$ $!; wait'], { stdio: ['ignore', 'inherit', 'inherit'] }, () => console.log('cleaned up'));
setInterval(() => child.pid, 1000);
`;

async function setUp(): Promise<{
  readonly process: ChildProcess;
  readonly owned: readonly ProcessIdentity[];
  readonly said: () => string;
}> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', SET_UP], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  while (!said.includes('\n')) await once(child.stdout, 'data');
  const owned = (said.split('\n')[0] ?? '').split(' ').flatMap((pid) => identify(Number(pid)) ?? []);
  expect(owned).to.have.length(2);
  return { process: child, owned, said: () => said };
}

async function gone(processes: readonly ProcessIdentity[]): Promise<void> {
  while (processes.some(isRunning)) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('a process of the set-up', function () {
  this.timeout(120_000);

  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    it(`ends with all that it has started when the set-up gets ${signal}, and is cleaned up after`, async () => {
      const { process: child, owned, said } = await setUp();
      child.kill(signal);
      expect(await once(child, 'close')).to.deep.equal([code, null]);
      await gone(owned);
      expect(said()).to.include('cleaned up');
    });
  }

  it('ends when the set-up is killed', async () => {
    const { process: child, owned } = await setUp();
    const [leader, ...rest] = owned;
    child.kill('SIGKILL');
    await gone(leader === undefined ? [] : [leader]);
    // What the leader has started is its own business here: Go ends its compilers within seconds by itself.
    for (const { pid } of rest.filter(isRunning)) process.kill(pid, 'SIGKILL');
  });
});
