import { expect } from 'chai';
import installCommand from '../../../src/commands/meshctl/install.ts';
import uninstallCommand from '../../../src/commands/meshctl/uninstall.ts';
import { namesFor } from '../../../src/lib/names.ts';
import { customResourceDefinitions } from '../../../src/meshctl/install/crds.ts';
import { installationObjects } from '../../../src/meshctl/install/manifests.ts';
import { definitionReadiness, deploymentReadiness, waitingReason } from '../../../src/meshctl/install/readiness.ts';
import type { MeshConfig } from '../../../src/model/mesh-config.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { parseMeshConfig } from '../../../src/model/parse/mesh-config.ts';
import { structuralSchema } from '../../../src/model/schema/structural-schema.ts';
import { compileConfiguration } from '../../../src/rules/config/compile.ts';
import { ruleKinds } from '../../../src/rules/config/kinds.ts';
import { runMeshctl } from '../../harness/meshctl-run.ts';

const install = (changes: Partial<Parameters<typeof installationObjects>[0]> = {}): readonly KubeObject[] =>
  installationObjects({
    names: namesFor('mesh.io'),
    namespace: 'mesh-system',
    image: 'mesh/mesh:1',
    replicas: 2,
    mixs: 'telemetry',
    defaultRules: true,
    ...changes,
  });

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

describe('a structural schema of an object without fields', () => {
  it('is what the API server stores, so that another owner of the definition can say the same', () => {
    expect(structuralSchema({ type: 'object', additionalProperties: false, properties: {} })).to.deep.equal({ type: 'object' });
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
      'mesh-mixs',
    ]);
    for (const deployment of deployments) {
      const text = JSON.stringify(deployment);
      for (const hardened of [
        '"runAsNonRoot":true',
        '"capabilities":{"drop":["ALL"]}',
        '"readOnlyRootFilesystem":true',
        '"allowPrivilegeEscalation":false',
        '"seccompProfile":{"type":"RuntimeDefault"}',
        '"limits":{"memory":',
        '"readinessProbe"',
        '"livenessProbe"',
      ]) {
        expect(text, deployment.metadata.name).to.contain(hardened);
      }
    }
  });

  it('keep replicas apart, and one of them up, where there are several', () => {
    const budgets = (objects: readonly KubeObject[]) => objects.filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budgets(install()).map(({ metadata }) => metadata.name)).to.deep.equal([
      'mesh-pilot',
      'mesh-sidecar-injector',
      'mesh-mixs',
    ]);
    expect(JSON.stringify(find(install(), 'Deployment', 'mesh-pilot'))).to.contain('podAntiAffinity');
    const single = install({ replicas: 1 });
    expect(budgets(single)).to.deep.equal([]);
    expect(JSON.stringify(find(single, 'Deployment', 'mesh-pilot'))).not.to.contain('podAntiAffinity');
  });

  it('ask pilot-discovery about policies only, in a way that cannot lock a cluster', () => {
    const { webhooks } = find(install(), 'ValidatingWebhookConfiguration', 'mesh-policy-validation') as unknown as {
      webhooks: readonly { readonly rules: readonly object[]; readonly failurePolicy: string; readonly timeoutSeconds: number }[];
    };
    expect(webhooks).to.have.length(1);
    expect(webhooks[0]).to.include({ failurePolicy: 'Fail', timeoutSeconds: 5 });
    expect(webhooks[0]?.rules).to.deep.equal([
      {
        operations: ['CREATE', 'UPDATE'],
        apiGroups: ['authentication.mesh.io'],
        apiVersions: ['*'],
        resources: ['policies', 'meshpolicies'],
        scope: '*',
      },
    ]);
  });

  it('come in the order in which they can be created, each but the kinds with the label of the installation', () => {
    const kinds = [...new Set(install().map(({ kind }) => kind))];
    expect(kinds[0]).to.equal('Namespace');
    expect(kinds.at(-3)).to.equal('Deployment');
    expect(kinds.slice(-2)).to.have.members(['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration']);
    // Its pods are asked about by the webhook before.
    expect(install().at(-1)?.metadata.name).to.equal('mesh-mixs');
    for (const { kind, metadata } of install()) {
      const label = metadata.labels?.['install.mesh.io/control-plane'];
      expect(label, `${kind} ${metadata.name}`).to.equal(kind === 'CustomResourceDefinition' ? undefined : 'mesh-system');
    }
  });
});

describe('mixs among the manifests', () => {
  const configuration = (changes: Parameters<typeof install>[0]): MeshConfig => {
    const { data } = find(install(changes), 'ConfigMap', 'mesh') as unknown as { data: { mesh: string } };
    const parsed = parseMeshConfig(data.mesh);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    return parsed.value;
  };
  const names = (objects: readonly KubeObject[]): string => objects.map(({ metadata }) => metadata.name).join(' ');

  it('is told of everything, and asked when that is chosen', () => {
    const server = (service: string) => ({ host: `${service}.control.svc.cluster.local`, port: 9091 });
    const named = { mixerCheckServer: server('mesh-policy'), mixerReportServer: server('mesh-telemetry') };
    const namespace = 'control';
    expect(configuration({ namespace })).to.deep.include({ ...named, disablePolicyChecks: true });
    expect(configuration({ namespace, mixs: 'all' })).to.deep.include({ ...named, disablePolicyChecks: false });
  });

  it('is nowhere when it is not chosen', () => {
    expect(configuration({ mixs: 'none' })).to.include({ mixerCheckServer: undefined, mixerReportServer: undefined });
    expect(names(install({ mixs: 'none' }))).not.to.match(/mixs|telemetry|config\.mesh\.io/);
  });

  it('answers at the ports that are known, for both services', () => {
    for (const name of ['mesh-policy', 'mesh-telemetry']) {
      const { ports, selector } = find(install(), 'Service', name)['spec'] as {
        ports: { port: number }[];
        selector: Record<string, string>;
      };
      expect(ports.map(({ port }) => port)).to.deep.equal([9091, 9093]);
      expect(selector).to.deep.equal({ app: 'mesh-mixs', mesh: 'control-plane' });
    }
  });

  it('has a sidecar, without which it does not start to serve, and lets only sidecars ask', () => {
    const { template } = find(install(), 'Deployment', 'mesh-mixs')['spec'] as {
      template: { metadata: KubeObject['metadata']; spec: { containers: { startupProbe: object }[] } };
    };
    const [webhook, own] = find(install(), 'MutatingWebhookConfiguration', 'mesh-sidecar-injector')['webhooks'] as readonly {
      namespaceSelector: object;
      objectSelector?: { matchLabels: Record<string, string> };
    }[];
    expect(webhook?.objectSelector).to.equal(undefined);
    expect(own?.namespaceSelector).to.have.deep.property('matchLabels', { 'kubernetes.io/metadata.name': 'mesh-system' });
    expect(template.metadata.labels).to.include(own?.objectSelector?.matchLabels);
    expect(template.metadata.annotations).to.include({ 'sidecar.mesh.io/inject': 'true' });
    expect(template.spec.containers[0]?.startupProbe).to.have.deep.property('httpGet', { path: '/healthz/ready', port: 15020 });
    expect(find(install(), 'Policy', 'mesh-mixs')['spec']).to.deep.include({ peers: [{ mtls: {} }] });
  });

  it('labels no other pod of the control plane for injection, which would wait for itself', () => {
    for (const { kind, metadata, ...object } of install()) {
      if (kind === 'Deployment' && metadata.name !== 'mesh-mixs')
        expect(JSON.stringify(object), metadata.name).not.to.include('mesh-injection');
    }
    expect(find(install(), 'Namespace', 'mesh-system').metadata.labels).to.include({ 'mesh-injection': 'disabled' });
  });

  it('may read rules and pods, and change nothing', () => {
    const role = find(install(), 'ClusterRole', 'mesh-mixs-service-account-mesh-system');
    const rules = role['rules'] as readonly { apiGroups: string[]; resources: string[]; verbs: string[] }[];
    expect(new Set(rules.flatMap(({ verbs }) => verbs))).to.deep.equal(new Set(['list', 'watch']));
    expect(rules.filter(({ apiGroups }) => apiGroups[0] === '')).to.deep.equal([
      { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] },
    ]);
    const known = new Set(ruleKinds('mesh.io').map(({ resource }) => resource.plural));
    const ofRules = rules.filter(({ apiGroups }) => apiGroups[0] !== '');
    expect(new Set(ofRules.flatMap(({ resources }) => resources))).to.deep.equal(known);
  });

  it('has rules that it takes as they are, or none', () => {
    const rules = install().filter(({ apiVersion }) => apiVersion.startsWith('config.mesh.io/'));
    const { problems, rules: compiled } = compileConfiguration(rules);
    expect(problems).to.deep.equal([]);
    expect([...compiled.keys()]).to.have.length(5);
    expect(names(install({ defaultRules: false }))).not.to.match(/request-metrics|access-log/);
  });
});

describe('meshctl install', () => {
  const failure = async (command: typeof installCommand, ...args: readonly string[]): Promise<string> => {
    const { code, err } = await runMeshctl(command, args);
    expect(code).to.equal(2);
    return err;
  };

  it('refuses without --apply what only a cluster can do', async () => {
    expect(await failure(installCommand, '--wait')).to.include('--wait needs --apply beside it');
    expect(await failure(installCommand, '--dry-run', 'server')).to.include('--dry-run needs --apply');
  });

  it('prints where the environment names a cluster too', async () => {
    const { code, out } = await runMeshctl(installCommand, ['--crds'], { env: { MESH_ORCHCONFIG: '/nowhere' } });
    expect([code, out.startsWith('---\n')]).to.deep.equal([0, true]);
  });

  it('needs an API server to change anything, as uninstall does', async () => {
    expect(await failure(installCommand, '--apply')).to.include('--orchconfig (or MESH_ORCHCONFIG) is required');
    expect(await failure(uninstallCommand)).to.include('--orchconfig (or MESH_ORCHCONFIG) is required');
    expect(await failure(installCommand, '--apply', '--orchconfig', '.')).to.include('an installation needs an API server');
    expect(await failure(uninstallCommand, '--namespace', 'A')).to.include('"A" is not the name of a namespace');
  });
});

describe('what an installation waits for', () => {
  const deployment = (status: object, spec: object = { replicas: 2 }) => ({ metadata: { generation: 2 }, spec, status });
  const current = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2 };

  const CASES: readonly (readonly [string, object, string | undefined])[] = [
    ['all pods of the newest form are available', current, undefined],
    [
      'the controller has not looked yet',
      { ...current, observedGeneration: 1 },
      'not looked at yet by the deployment controller',
    ],
    ['pods are yet to be made', { ...current, updatedReplicas: 1 }, '1 of 2 pods made'],
    ['older pods still run', { ...current, replicas: 3 }, '1 older pods still run'],
    ['pods are not available', { ...current, availableReplicas: 0 }, '0 of 2 pods available'],
    ['pods are refused', { ...current, conditions: [{ type: 'ReplicaFailure', status: 'True', message: 'quota' }] }, 'quota'],
  ];
  for (const [title, status, reason] of CASES) {
    it(`is seen when ${title}`, () => {
      const expected = reason === undefined ? { ready: true } : { ready: false, reason };
      expect(deploymentReadiness(deployment(status))).to.deep.equal(expected);
    });
  }

  it('is told in the words of the API where a container does not start', () => {
    const waiting = (reason: string, message = '') => ({
      status: { containerStatuses: [{ state: { waiting: { reason, message } } }] },
    });
    expect(waitingReason([waiting('ContainerCreating'), waiting('ErrImagePull', 'no such image')])).to.equal(
      'ErrImagePull: no such image',
    );
    expect(waitingReason([waiting('ContainerCreating')])).to.equal(undefined);
  });

  it('is over for a kind when it is established, and says whose names are taken', () => {
    const crd = (...conditions: readonly object[]) => ({ status: { conditions } });
    expect(definitionReadiness(crd({ type: 'Established', status: 'True' }))).to.deep.equal({ ready: true });
    const taken = crd({ type: 'NamesAccepted', status: 'False', message: '"policies" is already in use' });
    expect(definitionReadiness(taken)).to.deep.equal({ ready: false, reason: '"policies" is already in use' });
  });
});
