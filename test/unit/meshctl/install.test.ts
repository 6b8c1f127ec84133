import { expect } from 'chai';
import { namesFor } from '../../../src/lib/names.ts';
import { customResourceDefinitions } from '../../../src/meshctl/install/crds.ts';
import { installationObjects } from '../../../src/meshctl/install/manifests.ts';
import { structuralSchema } from '../../../src/meshctl/install/structural-schema.ts';
import type { KubeObject } from '../../../src/model/object.ts';

const install = (changes: Partial<Parameters<typeof installationObjects>[0]> = {}): readonly KubeObject[] =>
  installationObjects({ names: namesFor('mesh.io'), namespace: 'mesh-system', image: 'mesh/mesh:1', replicas: 2, ...changes });

function find(objects: readonly KubeObject[], kind: string, name: string): KubeObject {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

describe('a structural schema', () => {
  it('has the type of everything, and no words of ours', () => {
    const schema = structuralSchema({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      additionalProperties: false,
      properties: {
        mode: { enum: ['STRICT', 'PERMISSIVE'] },
        number: { type: 'integer', minimum: 1, message: 'must be a port' },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        list: { type: 'array', items: { type: 'object' } },
        message: { type: 'string' },
      },
    });
    expect(schema).to.deep.equal({
      type: 'object',
      properties: {
        mode: { type: 'string', enum: ['STRICT', 'PERMISSIVE'] },
        number: { type: 'integer', minimum: 1 },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        list: { type: 'array', items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        message: { type: 'string' },
      },
    });
  });
});

describe('the manifests of the control plane', () => {
  it('define the policies, in the domain of the mesh', () => {
    const [policy, meshPolicy] = customResourceDefinitions(namesFor('example.org'));
    expect(policy?.metadata.name).to.equal('policies.authentication.example.org');
    expect(policy?.['spec']).to.deep.include({ group: 'authentication.example.org', scope: 'Namespaced' });
    expect(meshPolicy?.['spec']).to.deep.include({ group: 'authentication.example.org', scope: 'Cluster' });
  });

  it('map the ports that agents and operators know', () => {
    const { ports } = find(install(), 'Service', 'mesh-pilot')['spec'] as { ports: { port: number; targetPort: number }[] };
    expect(ports.map(({ port, targetPort }) => [port, targetPort])).to.deep.equal([
      [15007, 8080],
      [8080, 8080],
      [15010, 15010],
      [15011, 15010],
      [9093, 9093],
      [15017, 15017],
    ]);
  });

  it('have the line that turns mutual TLS on, commented out', () => {
    const { data } = find(install(), 'ConfigMap', 'mesh') as unknown as { data: { mesh: string } };
    expect(data.mesh.split('\n')).to.include('#authPolicy: MUTUAL_TLS');
  });

  it('lead proxies to the namespace of the control plane', () => {
    const { data } = find(install({ namespace: 'control' }), 'ConfigMap', 'mesh-sidecar-injector') as unknown as {
      data: { config: string };
    };
    expect(data.config).to.contain('discoveryAddress: mesh-pilot.control:15007').and.to.contain('mesh-citadel.control:8060');
  });

  it('give each account only what its component does', () => {
    const rules = install()
      .filter(({ kind }) => kind === 'ClusterRole')
      .map((role) => [role.metadata.name, role['rules']] as const);
    for (const [name, granted] of rules) {
      const text = JSON.stringify(granted);
      expect(text, name).not.to.contain('"*"');
      if (!name.startsWith('mesh-citadel')) expect(text, name).not.to.contain('secrets');
    }
  });

  it('run everything without privileges', () => {
    const deployments = install().filter(({ kind }) => kind === 'Deployment');
    expect(deployments.map(({ metadata }) => metadata.name)).to.have.members([
      'mesh-citadel',
      'mesh-pilot',
      'mesh-sidecar-injector',
    ]);
    for (const deployment of deployments) {
      expect(JSON.stringify(deployment)).to.contain('"runAsNonRoot":true').and.to.contain('"capabilities":{"drop":["ALL"]}');
    }
  });
});
