/** The injection and the mesh configuration, followed in their files, as what injection works with. */
import { createHash } from 'node:crypto';
import { type InjectionConfig, parseInjectionConfig } from '../injection/config.ts';
import { type InjectionContext, injectionContext } from '../injection/inject.ts';
import { compileTemplate } from '../injection/template.ts';
import { followFiles } from '../io/file/follow-files.ts';
import type { Logger } from '../io/log/logger.ts';
import { MeshError, type Parsed } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import { parseMeshConfig } from '../model/parse/mesh-config.ts';

export interface ConfigurationOptions {
  readonly injectConfigFile: string;
  readonly meshConfigFile: string;
  readonly names: Names;
  readonly nativeSidecars: () => boolean;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Gives the context of the configuration in force: the same one until a file changes. A file that is bad at start is a MeshError
 * `invalid`; one that turns bad later is logged, and the last good one stays in force.
 */
export async function followConfiguration(options: ConfigurationOptions): Promise<() => InjectionContext> {
  const { injectConfigFile, meshConfigFile, names, nativeSidecars, logger, signal } = options;
  let context: InjectionContext | undefined;
  const onChange = (file: string) => () => {
    context = undefined;
    logger.info('configuration read again', { file });
  };
  const [config, mesh] = await Promise.all([
    followFiles({
      paths: [injectConfigFile],
      title: 'injection configuration',
      parse: ([text = '']) => parseCompilable(text),
      onChange: onChange(injectConfigFile),
      logger,
      signal,
    }),
    followFiles({
      paths: [meshConfigFile],
      title: 'mesh configuration',
      parse: ([text = '']) => parseMeshConfig(text),
      onChange: onChange(meshConfigFile),
      logger,
      signal,
    }),
  ]);
  return () => {
    context ??= injectionContext({ names, config: config.value(), mesh: mesh.value(), hash, nativeSidecars });
    return context;
  };
}

/** A template that does not compile is as bad as a document that does not parse, and found out as early. */
function parseCompilable(text: string): Parsed<InjectionConfig> {
  const parsed = parseInjectionConfig(text);
  if (!parsed.ok) return parsed;
  try {
    compileTemplate(parsed.value.template);
    return parsed;
  } catch (thrown) {
    return { ok: false, problems: [{ path: 'template', message: MeshError.from(thrown).message }] };
  }
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
