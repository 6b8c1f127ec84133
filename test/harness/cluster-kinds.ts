/** Custom resource definitions for tests of what lies below them: they take any document. */
import { setTimeout as sleep } from 'node:timers/promises';
import { groupOf, type Kinds } from '../../src/model/kinds.ts';
import type { ResourceKind } from '../../src/model/object.ts';
import type { TestCluster } from './cluster.ts';

/** Installs the mesh's own kinds, and waits until they are served. */
export async function installOpenKinds(cluster: TestCluster, kinds: Kinds): Promise<void> {
  const own = [kinds.policy, kinds.meshPolicy];
  cluster.kubectl(['apply', '-f', '-'], own.map((kind) => JSON.stringify(definition(kind))).join('\n---\n'));
  const names = own.map((kind) => `crd/${kind.plural}.${groupOf(kind)}`);
  cluster.kubectl(['wait', '--for=condition=Established', '--timeout=100s', ...names]);
  for (const kind of own) await served(cluster, kind);
}

/** The condition comes a moment before the path is served, and the server holds the first write back for 2 s. */
async function served(cluster: TestCluster, { apiVersion, kind, plural, namespaced }: ResourceKind): Promise<void> {
  const deadline = Date.now() + 100_000;
  const path = `/apis/${apiVersion}/${namespaced ? 'namespaces/default/' : ''}${plural}`;
  const body = { apiVersion, kind, metadata: { generateName: 'served-' } };
  for (;;) {
    try {
      await cluster.client.request({ method: 'POST', path, query: { dryRun: 'All' }, body, what: `try to create a ${kind}` });
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await sleep(20);
  }
}

function definition(kind: ResourceKind): object {
  const [group, version] = kind.apiVersion.split('/');
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${group}` },
    spec: {
      group,
      scope: kind.namespaced ? 'Namespaced' : 'Cluster',
      names: { plural: kind.plural, kind: kind.kind, singular: kind.kind.toLowerCase() },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}
