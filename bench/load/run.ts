import { fork } from 'node:child_process';
import type { Job, Outcome, Told } from './job.ts';
import { processTimes } from './server-process.ts';

export interface Measured extends Outcome {
  /** Seconds of CPU time of the server, and seconds that it waited for a core, while it was measured. */
  readonly cpu: number;
  readonly waited: number;
}

/** Puts a load on the server with this pid, by a process of its own. */
export async function load(pid: number, job: Job): Promise<Measured> {
  const client = fork(new URL('./client.ts', import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  try {
    let before = processTimes(pid);
    return await new Promise<Measured>((resolve, reject) => {
      client.on('message', (told: Told) => {
        if (told.type === 'measuring') before = processTimes(pid);
        else if (told.type === 'failed') reject(new Error(told.why));
        else {
          const after = processTimes(pid);
          resolve({ ...told.outcome, cpu: after.cpu - before.cpu, waited: after.waited - before.waited });
        }
      });
      client.once('error', reject);
      client.once('exit', (code) => reject(new Error(`the load process ended with ${code}`)));
      client.send(job);
    });
  } finally {
    client.kill();
  }
}
