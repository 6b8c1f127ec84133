import type { KubeObject } from '../../model/object.ts';
import { authorityObjects } from './authority.ts';
import { configurationObjects } from './configuration.ts';
import { allDefinitions, customResourceDefinitions } from './crds.ts';
import { discoveryObjects } from './discovery.ts';
import { injectorObjects } from './injector.ts';
import { inStages } from './installed-kinds.ts';
import { mixsObjects } from './mixs.ts';
import type { InstallOptions } from './options.ts';
import { labelled } from './ownership.ts';

/** Of what is installed only. */
export function definitions({ names, mixs }: Pick<InstallOptions, 'names' | 'mixs'>): readonly KubeObject[] {
  return mixs === 'none' ? customResourceDefinitions(names) : allDefinitions(names);
}

/** Everything that a cluster needs to run the mesh, in the order in which it can be created. */
export function installationObjects(options: InstallOptions): readonly KubeObject[] {
  const objects = [
    ...definitions(options),
    ...configurationObjects(options),
    ...authorityObjects(options),
    ...discoveryObjects(options),
    ...injectorObjects(options),
    ...mixsObjects(options),
  ];
  return labelled(inStages(objects).flat(), options.names, options.namespace);
}
