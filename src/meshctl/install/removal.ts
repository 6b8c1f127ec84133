/** What an uninstallation deletes and what it leaves. */
import type { KubeObject, ObjectRef } from '../../model/object.ts';
import { getObject, refOfInstalled } from './apply-object.ts';
import { allDefinitions } from './crds.ts';
import { isRule, NAMESPACE } from './installed-kinds.ts';
import { authoritySecret, type ClusterScope, issuedMaterial, objectsOf, reasonToKeepNamespace } from './leftovers.ts';
import { installedObjects, isKept, type PruneOptions } from './prune.ts';

export interface Removal {
  /** In this order: webhook configurations first, so that nothing is asked of what is gone. */
  readonly deleted: readonly ObjectRef[];
  readonly kept: readonly { readonly ref: ObjectRef; readonly reason: string }[];
}

export interface RemovalOptions {
  readonly crds: boolean;
  readonly purge: boolean;
}

/** Looks at the cluster, changes nothing. */
export async function planRemoval(scope: PruneOptions, { crds, purge }: RemovalOptions): Promise<Removal> {
  const deleted: ObjectRef[] = [];
  const kept: { ref: ObjectRef; reason: string }[] = [];
  const decide = (goes: boolean, ref: ObjectRef, reason: string): void => {
    if (goes) deleted.push(ref);
    else kept.push({ ref, reason });
  };
  const installed = await installedObjects(scope);
  for (const object of installed) {
    const goes = purge || (crds && isRule(object)) || !(await isKept(object, scope));
    decide(goes, refOfInstalled(object), CONFIGURATION);
  }
  const definitions = await existing(scope, allDefinitions(scope.names));
  const reason =
    crds || purge ? '' : `${await objectsOf(definitions, scope)} policies and rules are kept with them; --crds deletes both`;
  for (const object of definitions) decide(crds || purge, refOfInstalled(object), reason);
  if (purge) deleted.push(...(await issuedMaterial(scope)));
  const secret = authoritySecret(scope);
  if ((await getObject(scope.client, secret, scope.signal)) !== undefined) decide(purge, secret, AUTHORITY);
  const namespace: ObjectRef = { kind: NAMESPACE, name: scope.namespace };
  if ((await getObject(scope.client, namespace, scope.signal)) !== undefined) {
    const reason = purge ? await reasonToKeepNamespace(scope) : NOT_ASKED;
    decide(reason === undefined, namespace, reason ?? '');
  }
  return { deleted, kept };
}

const CONFIGURATION = 'it is your configuration; --purge deletes it';
const AUTHORITY =
  'it is the key of the certificate authority, and with it all identities go on after the next installation; --purge deletes it';
const NOT_ASKED = '--purge deletes it';

async function existing({ client, signal }: ClusterScope, objects: readonly KubeObject[]): Promise<readonly KubeObject[]> {
  const found: KubeObject[] = [];
  for (const object of objects) {
    if ((await getObject(client, refOfInstalled(object), signal)) !== undefined) found.push(object);
  }
  return found;
}
