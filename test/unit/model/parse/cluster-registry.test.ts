import { expect } from 'chai';
import { namesFor } from '../../../../src/lib/names.ts';
import type { KubeObject } from '../../../../src/model/object.ts';
import { parseClusterRegistry, type RegistryEntry } from '../../../../src/model/parse/cluster-registry.ts';

const names = namesFor('mesh.io');

const cluster = (annotations: Readonly<Record<string, unknown>>, name?: string): string =>
  JSON.stringify({
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'Cluster',
    metadata: { ...(name === undefined ? {} : { name }), annotations },
    spec: { kubernetesApiEndpoints: {} },
  });

function parse(data: Readonly<Record<string, unknown>>, of = names): readonly RegistryEntry[] {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'clusters', namespace: 'mesh-system' }, data };
  return parseClusterRegistry(object as KubeObject, of, 'mesh-system');
}

describe('parseClusterRegistry', () => {
  it('reads the clusters and where their kubeconfigs are', () => {
    const data = {
      west: cluster({ 'config.mesh.io/accessConfigSecret': 'west-config', 'config.mesh.io/accessConfigSecretNamespace': 'keys' }),
      east: cluster({ 'config.mesh.io/accessConfigSecret': 'east', 'config.mesh.io/platform': 'Kubernetes' }, 'east-1'),
    };
    expect(parse(data)).to.deep.equal([
      {
        key: 'east',
        ok: true,
        cluster: { name: 'east', secret: { namespace: 'mesh-system', name: 'east' }, keys: ['east', 'east-1'] },
      },
      { key: 'west', ok: true, cluster: { name: 'west', secret: { namespace: 'keys', name: 'west-config' }, keys: ['west'] } },
    ]);
  });

  it('knows the annotations of another mesh domain', () => {
    const data = { west: cluster({ 'config.example.org/accessConfigSecret': 'west' }) };
    expect(parse(data, namesFor('example.org'))[0]).to.include({ ok: true });
    expect(parse(data)[0]).to.include({ ok: false });
  });

  it('is empty without data', () => {
    expect(parseClusterRegistry({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }, names, 'b')).to.deep.equal([]);
  });

  const SECRET = { 'config.mesh.io/accessConfigSecret': 'west' };
  const REFUSED: readonly (readonly [string, unknown, string])[] = [
    ['no text', 7, 'data.bad: must be a text: a Cluster as YAML'],
    ['nothing', '', 'data.bad: must be one Cluster'],
    ['two documents', `${cluster(SECRET)}\n---\n${cluster(SECRET)}`, 'data.bad: must be one Cluster'],
    ['another kind', '{"apiVersion":"v1","kind":"Pod"}', 'data.bad.apiVersion: must be clusterregistry.k8s.io/v1alpha1'],
    [
      'no secret',
      cluster({}),
      'data.bad.metadata.annotations.config.mesh.io/accessConfigSecret: required: the Secret with the kubeconfig',
    ],
    [
      'another platform',
      cluster({ ...SECRET, 'config.mesh.io/platform': 'Consul' }),
      'data.bad.metadata.annotations.config.mesh.io/platform: "Consul" is not supported; only Kubernetes is',
    ],
  ];
  for (const [title, text, message] of REFUSED) {
    it(`refuses ${title}, and that alone`, () => {
      const [bad, good] = parse({ bad: text, good: cluster(SECRET) });
      expect(bad?.ok === false && bad.problems.map(({ path, message: said }) => `${path}: ${said}`)).to.include(message);
      expect(good).to.include({ key: 'good', ok: true });
    });
  }

  it('refuses a name that would lead elsewhere', () => {
    const [entry] = parse({ bad: cluster({ 'config.mesh.io/accessConfigSecret': '../west' }) });
    expect(entry).to.include({ ok: false });
  });
});
