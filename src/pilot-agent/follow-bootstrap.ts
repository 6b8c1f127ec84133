import { followChanges } from '../io/file/file-changes.ts';
import type { Logger } from '../io/log/logger.ts';
import { MeshError } from '../lib/errors.ts';
import { type Bootstrap, readBootstrap } from './bootstrap-source.ts';
import type { Clock } from './clock.ts';
import type { ProxyConfig } from './config.ts';

/**
 * Reads the bootstrap again whenever its file changes, and hands on each different one that the proxy would take. One that
 * is wrong is reported once and changes nothing.
 * @param current what the proxy runs with
 * @param validate rejects with what is wrong
 */
export async function followBootstrap(
  config: ProxyConfig,
  current: Bootstrap,
  validate: (candidate: Bootstrap) => Promise<void>,
  replace: (bootstrap: Bootstrap) => void,
  clock: Clock,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  if (config.bootstrap.kind === 'generated') return;
  const { file } = config.bootstrap;
  let running = current;
  /** What the proxy has refused; it need not be asked again. */
  let refused: string | undefined;
  let problem = '';
  const read = async (): Promise<boolean> => {
    try {
      const candidate = await readBootstrap(config);
      const isRunning = candidate.text === running.text;
      if (isRunning || candidate.text !== refused) problem = '';
      if (isRunning || candidate.text === refused) return true;
      await validate(candidate).catch((thrown: unknown) => {
        if (MeshError.from(thrown).code === 'invalid') refused = candidate.text;
        throw thrown;
      });
      running = candidate;
      logger.info('the bootstrap configuration has changed', { file });
      replace(candidate);
      return true;
    } catch (thrown) {
      const { code, message } = MeshError.from(thrown);
      if (!signal.aborted && message !== problem) {
        problem = message;
        const fields = { file, error: message };
        logger.error('the new bootstrap configuration cannot be used; the proxy goes on with the one before', fields);
      }
      // What is wrong stays wrong until the file changes; a full disk does not stay full.
      return code === 'invalid';
    }
  };
  await followChanges({ paths: [file], read, sleep: clock.sleep.bind(clock), signal });
}
