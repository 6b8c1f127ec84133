/** Everything that a cluster needs to run the mesh, in the order in which it can be created. */
import type { KubeObject } from '../../model/object.ts';
import { authorityObjects } from './authority.ts';
import { configurationObjects } from './configuration.ts';
import { customResourceDefinitions } from './crds.ts';
import { discoveryObjects } from './discovery.ts';
import { injectorObjects } from './injector.ts';
import { inStages } from './installed-kinds.ts';
import type { InstallOptions } from './options.ts';
import { labelled } from './ownership.ts';

export function installationObjects(options: InstallOptions): readonly KubeObject[] {
  const objects = [
    ...customResourceDefinitions(options.names),
    ...configurationObjects(options),
    ...authorityObjects(options),
    ...discoveryObjects(options),
    ...injectorObjects(options),
  ];
  return labelled(inStages(objects).flat(), options.names, options.namespace);
}
