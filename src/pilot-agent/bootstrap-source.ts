import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { formatProblem, MeshError } from '../lib/errors.ts';
import { readYaml } from '../model/parse/yaml.ts';
import { printAddress } from './address.ts';
import { buildBootstrap } from './bootstrap.ts';
import { seconds } from './bootstrap-parts.ts';
import type { ProxyConfig } from './config.ts';

/** A configuration that the proxy can be started with. */
export interface Bootstrap {
  readonly text: string;
  /** With its dot; the proxy tells formats by it. */
  readonly extension: string;
}

/** Formats of the proxy's that are not YAML or JSON: only the proxy itself can read them. */
const OPAQUE: readonly string[] = ['.pb', '.pb_text'];
/** What the user's file may measure; a bootstrap has some kilobytes. */
const MAX_FILE_BYTES = 16 << 20;

/**
 * The bootstrap as flags and files say it now.
 * @throws MeshError `not_found` or `failed_precondition` for a file that cannot be read, `invalid` with file and line for
 *   one that is wrong
 */
export async function readBootstrap(config: ProxyConfig): Promise<Bootstrap> {
  const source = config.bootstrap;
  switch (source.kind) {
    case 'generated':
      return { text: print(buildBootstrap(config)), extension: '.json' };
    case 'template':
      return {
        text: print(await renderTemplate(source.file, await readSource(source.file, '--templateFile'), config)),
        extension: '.json',
      };
    case 'custom': {
      const text = await readSource(source.file, '--customConfigFile');
      const extension = extname(source.file) || '.json';
      if (!OPAQUE.includes(extension)) requireMapping(text, source.file);
      return { text, extension };
    }
  }
}

const print = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

async function readSource(file: string, flag: string): Promise<string> {
  const bytes = await readFile(file).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') throw new MeshError('not_found', `${file} (${flag}) does not exist`, cause);
    throw new MeshError('failed_precondition', `${file} (${flag}) cannot be read: ${cause.message}`, cause);
  });
  if (bytes.length > MAX_FILE_BYTES)
    throw new MeshError('invalid', `${file} (${flag}) has ${bytes.length} bytes; more than ${MAX_FILE_BYTES} is no bootstrap`);
  return bytes.toString('utf8');
}

/**
 * Renders a Liquid template of YAML or JSON. A value never is a part of the text's structure, whatever it contains
 * (injection/template.ts); docs/reference/agent.md lists the variables.
 */
export async function renderTemplate(file: string, text: string, config: ProxyConfig): Promise<unknown> {
  // Loaded here, for few agents have a template to render.
  const { compileTemplate } = await import('../injection/template.ts');
  try {
    return compileTemplate(text).render(templateVariables(config));
  } catch (thrown) {
    const { message } = MeshError.from(thrown);
    const line = /\bline:? ?(\d+)/.exec(message)?.[1];
    throw new MeshError('invalid', `${file}${line === undefined ? '' : `:${line}`}: ${message}`, thrown);
  }
}

function templateVariables(config: ProxyConfig) {
  const { node, discovery, identity, statsd, zipkin } = config;
  return {
    node: { id: node.id, cluster: node.cluster, zone: node.zone, metadata: node.metadata },
    pod: { namespace: identity.namespace, serviceAccount: identity.serviceAccount, addresses: [...config.addresses] },
    discovery: {
      host: discovery.address.host,
      port: discovery.address.port,
      protocol: discovery.protocol,
      refreshDelay: seconds(discovery.refreshDelay),
      serverId: discovery.serverId ?? '',
    },
    connectTimeout: seconds(config.connectTimeout),
    sdsSocket: config.sdsSocket,
    adminPort: config.adminPort,
    statusPort: config.statusPort,
    prometheusPort: config.prometheusPort,
    inboundPort: config.inboundPort,
    statsdUdpAddress: statsd === undefined ? '' : printAddress(statsd),
    collectorBAddress: zipkin === undefined ? '' : printAddress(zipkin),
    bootstrap: buildBootstrap(config),
  };
}

function requireMapping(text: string, file: string): void {
  const read = readYaml(text);
  if (!read.ok) throw new MeshError('invalid', formatProblem({ ...read.problem, file }));
  const [value] = read.value.values;
  if (read.value.values.length === 1 && typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw new MeshError('invalid', `${file} is not one YAML or JSON object, as a bootstrap configuration is`);
}
