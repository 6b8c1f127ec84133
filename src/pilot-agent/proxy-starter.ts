import type { Writable } from 'node:stream';
import type { Logger } from '../io/log/logger.ts';
import { MeshError } from '../lib/errors.ts';
import { NODE_ID_VARIABLE } from '../model/reporter.ts';
import { bootstrapFile, writeBootstrap } from './bootstrap-file.ts';
import type { Bootstrap } from './bootstrap-source.ts';
import type { ProxyConfig } from './config.ts';
import { envoyArguments, type Restart } from './envoy-arguments.ts';
import { canTieToParent, type ProxyProcess, startEnvoy } from './envoy-process.ts';
import { baseIdFile, canRestartHot, readBaseId, removeSharedMemory } from './hot-restart.ts';

export interface StarterDeps {
  readonly logger: Logger;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

export interface ProxyStarter {
  /** Whether a further epoch can take over from one that runs; if not, that one must have ended. */
  readonly hot: boolean;
  start(epoch: number, bootstrap: Bootstrap): Promise<ProxyProcess>;
  /** To be called when no epoch runs any more. */
  cleanUp(): Promise<void>;
}

/** Finds out what this machine allows, and clears what an agent that was killed has left in the same place. */
export async function createProxyStarter(config: ProxyConfig, deps: StarterDeps): Promise<ProxyStarter> {
  const tied = await canTieToParent();
  if (!tied) deps.logger.warn('setpriv is not installed: a killed agent leaves its proxy behind');
  const changes = config.bootstrap.kind !== 'generated';
  const hot = changes && (await canRestartHot());
  if (changes && !hot) deps.logger.warn('/dev/shm cannot be written to: a new configuration interrupts the proxy for a moment');
  await removeSharedMemory(config.configPath);
  return {
    hot,
    start: async (epoch, bootstrap) => {
      const file = bootstrapFile(config.configPath, epoch, bootstrap);
      await writeBootstrap(file, bootstrap);
      const restart = hot ? await hotRestart(config.configPath, epoch) : ({ kind: 'alone' } as const);
      const variables = { [NODE_ID_VARIABLE]: config.node.id };
      return startEnvoy(config.binaryPath, envoyArguments(config, file, restart), variables, deps, tied);
    },
    cleanUp: () => removeSharedMemory(config.configPath),
  };
}

async function hotRestart(configPath: string, epoch: number): Promise<Restart> {
  if (epoch === 0) {
    await removeSharedMemory(configPath);
    return { kind: 'first', baseIdFile: baseIdFile(configPath) };
  }
  const baseId = await readBaseId(configPath);
  if (baseId !== undefined) return { kind: 'next', epoch, baseId };
  throw new MeshError('unavailable', 'the proxy that runs has not got as far as to be taken over from');
}
