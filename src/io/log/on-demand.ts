import { MeshError } from '../../lib/errors.ts';
import { DEFAULT_SCOPE } from './levels.ts';
import { type Logger, silentLogger } from './logger.ts';
import type { LoggingHost, LoggingOptions } from './winston.ts';

/** A command line with the logging flags, and which of all its flags were really given. */
export interface LoggingInvocation {
  readonly options: LoggingOptions;
  readonly given: ReadonlySet<PropertyKey>;
}

/**
 * Runs a command that ends at once with its log. The log is opened only when a logging flag was given: loading it takes
 * longer than such a command runs, and at the default level such a command logs nothing. A failure is logged and thrown on.
 * @throws MeshError as `createLogging`, and what `work` throws
 */
export async function withLogOnDemand(
  { options, given }: LoggingInvocation,
  host: LoggingHost,
  scopes: readonly string[],
  work: (logger: Logger) => Promise<number>,
): Promise<number> {
  const asked = [...given].some((name) => typeof name === 'string' && name.startsWith('log_'));
  if (!asked) return work(silentLogger);
  const { createLogging } = await import('./winston.ts');
  const logging = await createLogging(options, host, scopes);
  const logger = logging.scope(DEFAULT_SCOPE);
  try {
    return await work(logger);
  } catch (thrown) {
    logger.error('failed', { error: MeshError.from(thrown) });
    throw thrown;
  } finally {
    await logging.close();
  }
}
