import { createHash } from 'node:crypto';
import type { Invocation } from '../flags/table.ts';
import type { InjectionConfig } from '../injection/config.ts';
import { parseInjectionConfig } from '../injection/config.ts';
import { DEFAULT_INJECTION_CONFIG } from '../injection/default-config.ts';
import { injectionContext } from '../injection/inject.ts';
import { checkSetting, type SettingName, type Settings } from '../injection/settings.ts';
import type { Host } from '../io/host.ts';
import { formatProblem, MeshError, type Problem } from '../lib/errors.ts';
import { DEFAULT_MESH_CONFIG, type MeshConfig } from '../model/mesh-config.ts';
import { parseMeshConfig } from '../model/parse/mesh-config.ts';
import type { injectFlags } from './flags.ts';
import { readSource, readSources } from './inject/files.ts';
import { injectText } from './inject/inject-text.ts';

type InjectInvocation = Invocation<typeof injectFlags>;

/** Flags that override a setting of the configuration. A pod's annotation still has the last word. */
const SETTING_FLAGS = {
  includeIPRanges: 'includeOutboundIPRanges',
  excludeIPRanges: 'excludeOutboundIPRanges',
  includeInboundPorts: 'includeInboundPorts',
  excludeInboundPorts: 'excludeInboundPorts',
  excludeOutboundPorts: 'excludeOutboundPorts',
  nativeSidecar: 'nativeSidecar',
} as const satisfies Partial<Record<keyof typeof injectFlags, SettingName>>;

/**
 * Prints manifests with the sidecar added to their workloads. What was done to which workload goes to stderr. When anything is wrong
 * nothing is printed.
 * @throws MeshError `usage` for a bad flag, `invalid` with every problem of the manifests or configuration.
 */
export async function runInject(invocation: InjectInvocation, host: Host): Promise<number> {
  const { options } = invocation;
  if (options.filename.length === 0)
    throw new MeshError('usage', 'no manifests given: name them with -f FILE, -f DIRECTORY or -f -');
  const config = withFlags(await readInjectionConfig(options.injectConfig, host), invocation);
  const mesh = await readMeshConfig(options.meshConfig, host);
  const context = injectionContext({ names: host.names, config, mesh, hash: sha256 });
  const sources = await readSources(options.filename, host);
  const result = injectText(sources, { context, defaultNamespace: options.namespace || 'default', force: options.force });
  if (result.problems.length > 0) throw new MeshError('invalid', result.problems.map(formatProblem).join('\n'));
  host.stdout.write(result.text);
  for (const note of result.notes) host.stderr.write(`${note}\n`);
  return 0;
}

function withFlags(config: InjectionConfig, { options, given }: InjectInvocation): InjectionConfig {
  const problems: Problem[] = [];
  const values: Record<SettingName, string> = { ...config.values } satisfies Settings;
  for (const flag of Object.keys(SETTING_FLAGS) as (keyof typeof SETTING_FLAGS)[]) {
    const setting = SETTING_FLAGS[flag];
    if (given.has(flag)) values[setting] = checkSetting(setting, [options[flag]].flat().join(','), `--${flag}`, problems);
  }
  if (problems.length === 0) return { ...config, values };
  throw new MeshError('usage', problems.map(({ path, message }) => `${path} ${message}`).join('; '));
}

async function readInjectionConfig(file: string, host: Host): Promise<InjectionConfig> {
  const text = file === '' ? DEFAULT_INJECTION_CONFIG : (await readSource(file, host.cwd)).text;
  const parsed = parseInjectionConfig(text);
  if (parsed.ok) return parsed.value;
  throw new MeshError('invalid', parsed.problems.map((problem) => formatProblem({ file, ...problem })).join('\n'));
}

async function readMeshConfig(file: string, host: Host): Promise<MeshConfig> {
  if (file === '') return DEFAULT_MESH_CONFIG;
  const parsed = parseMeshConfig((await readSource(file, host.cwd)).text, file);
  if (parsed.ok) return parsed.value;
  throw new MeshError('invalid', parsed.problems.map(formatProblem).join('\n'));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
