import { MeshError } from '../../lib/errors.ts';
import { kindsFor } from '../../model/kinds.ts';
import { injectorFlags } from '../../sidecar-injector/flags.ts';
import { asFields } from '../../sources/store/kubernetes/received.ts';
import { getObject } from './apply-object.ts';
import type { ClusterScope } from './leftovers.ts';

/**
 * A cluster has one injection webhook: a second control plane would take it over, and with it all pods that are created from then on.
 *
 * @throws MeshError `conflict` where it is of the control plane of another namespace
 */
export async function requireOwnWebhook({ client, names, namespace, signal }: ClusterScope): Promise<void> {
  const kind = kindsFor(names).mutatingWebhookConfiguration;
  const name = injectorFlags.webhookConfigName.default;
  const labels = asFields(asFields(asFields(await getObject(client, { kind, name }, signal))['metadata'])['labels']);
  const owner = labels[names.installationLabel];
  if (owner === undefined || owner === namespace) return;
  throw new MeshError(
    'conflict',
    `a control plane is installed in namespace ${String(owner)}, and pods of labelled namespaces get their sidecars from it: ` +
      `uninstall that one first (meshctl uninstall -n ${String(owner)}), or give --force-conflicts to have this one take its place`,
  );
}
