import { MeshError } from '../lib/errors.ts';
import type { Admin } from './admin.ts';

/** The messages of the proxy's configuration dump (envoy.admin.v3.ConfigDump) that each type stands for. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  all: ['Bootstrap', 'Clusters', 'Listeners', 'Routes'],
  static: ['Bootstrap'],
  clusters: ['Clusters'],
  listeners: ['Listeners'],
  routes: ['Routes'],
};

/**
 * A part of the proxy's configuration as JSON. Secrets are left out.
 * @throws MeshError `usage` for a type there is not, `unavailable` when no proxy answers
 */
export async function dumpConfiguration(type: string, admin: Admin): Promise<string> {
  const sections = SECTIONS[type];
  if (sections === undefined) {
    throw new MeshError('usage', `"${type}" is not a configuration type; there are ${Object.keys(SECTIONS).join(', ')}`);
  }
  const dump: { readonly configs?: readonly { readonly '@type'?: string }[] } = JSON.parse(await admin.get('/config_dump'));
  const wanted = (dump.configs ?? []).filter((config) =>
    sections.some((section) => config['@type']?.endsWith(`.${section}ConfigDump`)),
  );
  return `${JSON.stringify({ configs: wanted }, null, 2)}\n`;
}
