import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { MeshError } from '../lib/errors.ts';
import { buildInfo } from '../lib/version.ts';
import type { KubeObject } from '../model/object.ts';
import { printYaml } from '../model/parse/yaml.ts';
import type { installFlags } from './flags.ts';
import { customResourceDefinitions } from './install/crds.ts';
import { installationObjects } from './install/manifests.ts';

/** `meshctl install`: prints the manifests of the control plane, or of its CustomResourceDefinitions only. */
export async function runInstall(invocation: Invocation<typeof installFlags>, host: Host): Promise<number> {
  const { options } = invocation;
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(options.namespace))
    throw new MeshError('usage', `--namespace: "${options.namespace}" is not the name of a namespace, such as mesh-system`);
  const image = options.image || `mesh/mesh:${buildInfo.version}`;
  const objects = options.crds
    ? customResourceDefinitions(host.names)
    : installationObjects({ names: host.names, namespace: options.namespace, image, replicas: options.replicas });
  host.stdout.write(printObjects(objects, options.output));
  return 0;
}

function printObjects(objects: readonly KubeObject[], format: 'yaml' | 'json'): string {
  switch (format) {
    case 'yaml':
      return objects.map((object) => `---\n${printYaml(object)}`).join('');
    case 'json':
      return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, null, 2)}\n`;
  }
}
