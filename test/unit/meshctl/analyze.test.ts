/** Each row changes one thing of a healthy mesh, and names exactly what is found. */
import { createHash, type X509Certificate } from 'node:crypto';
import { expect } from 'chai';
import { parseInjectionConfig } from '../../../src/injection/config.ts';
import { DEFAULT_INJECTION_CONFIG } from '../../../src/injection/default-config.ts';
import { generateKeyPair } from '../../../src/io/x509/key.ts';
import { validityFrom } from '../../../src/io/x509/template.ts';
import { seconds } from '../../../src/lib/duration.ts';
import { namesFor } from '../../../src/lib/names.ts';
import { analyse } from '../../../src/meshctl/analyze/analysers.ts';
import { CATALOGUE } from '../../../src/meshctl/analyze/catalogue.ts';
import { describeSubject } from '../../../src/meshctl/analyze/finding.ts';
import {
  ANALYSED_KINDS,
  type AnalysedKind,
  type MeshObjects,
  mergeObjects,
  NO_OBJECTS,
  type ObjectSet,
  onlyFiles,
} from '../../../src/meshctl/analyze/mesh-objects.ts';
import { meshState } from '../../../src/meshctl/analyze/mesh-state.ts';
import { NO_RULES } from '../../../src/meshctl/analyze/rule-set.ts';
import { kindsFor } from '../../../src/model/kinds.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { readDocuments } from '../../../src/model/parse/document.ts';
import { DAY, leafTemplate, makeRoot, NOW, signLeaf, type TestCa } from '../../harness/certificates.ts';

const names = namesFor('mesh.io');
const kinds = kindsFor(names);
const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

function byKind(objects: readonly KubeObject[]): MeshObjects {
  const lists = ANALYSED_KINDS.map((name): [AnalysedKind, readonly KubeObject[]] => [
    name,
    objects.filter(({ kind }) => kind === kinds[name].kind),
  ]);
  return Object.fromEntries(lists) as unknown as MeshObjects;
}

function fromYaml(text: string): readonly KubeObject[] {
  const { documents, problems } = readDocuments(text);
  expect(problems).to.deep.equal([]);
  return documents.map(({ value }) => value as KubeObject);
}

const HEALTHY = `
apiVersion: v1
kind: Namespace
metadata: {name: foo, labels: {mesh-injection: enabled}}
---
apiVersion: v1
kind: Namespace
metadata: {name: legacy}
---
apiVersion: v1
kind: Namespace
metadata: {name: mesh-system, labels: {mesh-injection: disabled}}
---
apiVersion: v1
kind: Service
metadata: {name: httpbin, namespace: foo}
spec: {clusterIP: 10.0.0.1, selector: {app: httpbin}, ports: [{name: http, port: 8000, targetPort: web}, {name: tcp-raw, port: 9000, targetPort: 90}]}
---
apiVersion: v1
kind: Service
metadata: {name: old, namespace: legacy}
spec: {clusterIP: 10.0.0.2, selector: {app: old}, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: old-1, namespace: legacy, labels: {app: old}}
spec: {containers: [{name: old}]}
---
apiVersion: v1
kind: Service
metadata: {name: mesh-sidecar-injector, namespace: mesh-system}
spec: {clusterIP: 10.0.0.3, selector: {app: mesh-sidecar-injector}, ports: [{name: https-inject, port: 443, targetPort: 8443}]}
---
apiVersion: v1
kind: Pod
metadata: {name: injector-1, namespace: mesh-system, labels: {app: mesh-sidecar-injector}}
spec: {containers: [{name: injector}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: injector-x, namespace: mesh-system, labels: {kubernetes.io/service-name: mesh-sidecar-injector}}
addressType: IPv4
ports: [{name: https-inject, port: 8443, protocol: TCP}]
endpoints: [{addresses: [10.1.0.9], conditions: {ready: true}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: mesh, namespace: mesh-system}
data: {mesh: "trustDomain: cluster.local"}
`;

const policy = (name: string, spec: string, more = 'namespace: foo'): string =>
  `apiVersion: authentication.mesh.io/v1alpha1\nkind: Policy\nmetadata: {name: ${name}, ${more}}\nspec: ${spec}\n`;

const service = (name: string, spec: string): string =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}, namespace: foo}\nspec: {clusterIP: 10.0.0.8, selector: {app: httpbin}, ${spec}}\n`;

const meshConfig = (text: string, namespace = 'mesh-system'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mesh, namespace: ${namespace}}\ndata: {mesh: ${JSON.stringify(text)}}\n`;

const RSA_KEY = JSON.stringify({ keys: [{ kty: 'oct', k: 'c2VjcmV0' }] });

interface Row {
  readonly title: string;
  readonly change: string;
  readonly found: readonly string[];
}

const POLICIES: readonly Row[] = [
  {
    title: 'a policy that is invalid',
    change: policy('default', '{peers: [{mtls: {mode: LAX}}]}'),
    found: ['MESH101 Policy foo/default: spec.peers[0].mtls.mode: must be STRICT or PERMISSIVE, not "LAX"'],
  },
  {
    title: 'a conflict, which the younger policy loses',
    change: `${policy('default', '{peers: [{mtls: {}}]}', 'namespace: foo, creationTimestamp: "2026-01-01T00:00:00Z"')}---\n${policy('z', '{}')}`,
    found: [
      'MESH201 Policy foo/z: Policy foo/z has no effect on namespace foo: Policy foo/default is older and claims it too',
      'MESH209 Policy foo/z: covers all of namespace foo, but is named "z"; what it does is the same',
    ],
  },
  {
    title: 'a target that is not there',
    change: policy('p', '{targets: [{name: htpbin}]}'),
    found: ['MESH202 Policy foo/p: spec.targets[0]: there is no service htpbin in namespace foo; did you mean "httpbin"?'],
  },
  {
    title: 'a port that is not there',
    change: policy('p', '{targets: [{name: httpbin, ports: [{number: 8001}]}]}'),
    found: ['MESH203 Policy foo/p: spec.targets[0]: service httpbin.foo has no port 8001; it has 8000 (http), 9000 (tcp-raw)'],
  },
  {
    title: 'labels that no pod has',
    change: policy('p', '{targets: [{name: httpbin, labels: {version: v2}}]}'),
    found: ['MESH204 Policy foo/p: spec.targets[0]: no pod of service httpbin.foo has the labels version=v2'],
  },
  {
    title: 'a policy of a namespace that does not exist',
    change: policy('default', '{}', 'namespace: fooo'),
    found: ['MESH204 Policy fooo/default: there is no namespace fooo'],
  },
  {
    title: 'a policy of an empty namespace',
    change: `apiVersion: v1\nkind: Namespace\nmetadata: {name: empty}\n---\n${policy('default', '{}', 'namespace: empty')}`,
    found: ['MESH204 Policy empty/default: namespace empty has neither services nor pods'],
  },
  {
    title: 'a policy for pods without sidecars',
    change: policy('default', '{peers: [{mtls: {}}]}', 'namespace: legacy'),
    found: ['MESH205 Policy legacy/default: it asks callers of old.legacy for mutual TLS, but these pods have no sidecar: old-1'],
  },
  { title: 'a policy that asks for nothing', change: policy('default', '{}', 'namespace: legacy'), found: [] },
  {
    title: 'tokens where there are no requests',
    change: policy(
      'p',
      '{targets: [{name: httpbin, ports: [{number: 9000}]}], origins: [{jwt: {issuer: "https://i", jwksUri: "https://i/k"}}]}',
    ),
    found: [
      'MESH206 Policy foo/p: port 9000 of httpbin.foo speaks tcp, in which there are no tokens, so every connection is refused',
    ],
  },
  {
    title: 'a principal that nobody can have',
    change: policy('default', '{principalBinding: USE_ORIGIN}'),
    found: [
      'MESH207 Policy foo/default: principalBinding is USE_ORIGIN and there are no origins, so every request is answered 401',
    ],
  },
  {
    title: 'rules of too many combinations',
    change: policy(
      'p',
      `{targets: [{name: httpbin, ports: [{number: 8000}]}], origins: [${Array.from({ length: 9 }, (_, i) => `{jwt: {issuer: "https://${i}", jwksUri: "https://i/k", triggerRules: [{includedPaths: [{prefix: /${i}}]}]}}`).join(', ')}]}`,
    ),
    found: ['MESH208 Policy foo/p: the rules of its origins have more than 256 combinations, so every request is answered 401'],
  },
  {
    title: 'a policy on a port of UDP',
    change: `${service('dns', 'ports: [{name: dns, port: 53, protocol: UDP}]')}---\n${policy('p', '{targets: [{name: dns, ports: [{number: 53}]}], peers: [{mtls: {}}]}')}`,
    found: ['MESH210 Policy foo/p: port 53 of dns.foo is UDP, which is not proxied'],
  },
];

const onPort = (fields: string): string =>
  policy('p', `{targets: [{name: httpbin, ports: [{number: 8000}]}], origins: [{jwt: {${fields}}}]}`);

const TOKENS: readonly Row[] = [
  {
    title: 'an issuer with a space',
    change: onPort('issuer: "https://i.example ", jwksUri: "https://i.example/keys"'),
    found: [
      'MESH301 Policy foo/p: spec.origins[0].jwt.issuer: "https://i.example " has white space in it; no token may ever match it',
    ],
  },
  {
    title: 'keys over plain HTTP from outside',
    change: onPort('issuer: i, jwksUri: "http://keys.example.com/jwks"'),
    found: [
      'MESH302 Policy foo/p: spec.origins[0].jwt.jwksUri: http://keys.example.com/jwks is read over plain HTTP from outside the cluster',
    ],
  },
  {
    title: 'keys of a service that does not exist',
    change: onPort('issuer: i, jwksUri: "http://jwks.foo:8000/keys"'),
    found: [
      'MESH303 Policy foo/p: spec.origins[0].jwt.jwksUri: jwks.foo is to be service jwks of namespace foo, which does not exist',
    ],
  },
  {
    title: 'keys of a service of the mesh',
    change: onPort('issuer: i, jwksUri: "http://old.legacy.svc.cluster.local/keys"'),
    found: [],
  },
  {
    title: 'inline keys that sign nothing, and say too much',
    change: onPort(`issuer: i, jwks: ${JSON.stringify(RSA_KEY)}`),
    found: [
      'MESH304 Policy foo/p: spec.origins[0].jwt.jwks: keys: there is no public key for signatures (RSA of 2048 bits or more, EC, or Ed25519)',
      'MESH305 Policy foo/p: spec.origins[0].jwt.jwks: key 0 is private; whoever reads the policy can sign tokens',
    ],
  },
];

const SERVICES: readonly Row[] = [
  {
    title: 'ports that say nothing of their protocol',
    change: service('web', 'ports: [{name: web, port: 81}, {name: x, port: 82, appProtocol: thrift}, {name: http-a, port: 83}]'),
    found: [
      'MESH401 Service foo/web: port 81 is named "web", which begins with no protocol, so it is proxied as raw TCP: no tokens, no routes',
      'MESH404 Service foo/web: port 82: appProtocol "thrift" is not known, so the port is proxied as raw TCP',
    ],
  },
  {
    title: 'a service without pods',
    change: service('web', 'ports: [{name: http, port: 80}]').replace('{app: httpbin}', '{app: web, tier: a}'),
    found: ['MESH402 Service foo/web: no pod of namespace foo has the labels app=web,tier=a'],
  },
  {
    title: 'a service without anything',
    change: service('web', 'ports: [{name: http, port: 80}]').replace('selector: {app: httpbin}, ', ''),
    found: ['MESH402 Service foo/web: has neither a selector nor endpoints'],
  },
  {
    title: 'a target port that no pod has',
    change: service('web', 'ports: [{name: http, port: 80, targetPort: wbe}]'),
    found: ['MESH403 Service foo/web: port 80 leads to the container port "wbe", which none of its pods has'],
  },
  {
    title: 'services that disagree',
    change: service('web', 'ports: [{name: tcp, port: 80, targetPort: web}]'),
    found: [
      'MESH405 Service foo/httpbin: port 80 of its pods speaks http, but service web.foo says it speaks tcp: it is proxied as raw TCP',
    ],
  },
  { title: 'a name of an outside host', change: service('out', 'type: ExternalName, externalName: example.com'), found: [] },
];

const CONFIGURATION: readonly Row[] = [
  {
    title: 'a mesh configuration with a mistake',
    change: meshConfig('authPolicy: MUTUAL'),
    found: ['MESH111 ConfigMap mesh-system/mesh: key "mesh": 1: authPolicy: must be NONE or MUTUAL_TLS, not "MUTUAL"'],
  },
  {
    title: 'a mesh configuration in the wrong place',
    change: meshConfig('{}', 'foo'),
    found: [
      'MESH112 ConfigMap foo/mesh: is the mesh configuration by its name, but the control plane reads the one of mesh-system',
    ],
  },
  {
    title: 'a mesh configuration of another namespace',
    change: meshConfig('rootNamespace: mesh'),
    found: ['MESH112 ConfigMap mesh-system/mesh: rootNamespace is mesh, but this configuration is read in mesh-system'],
  },
  {
    title: 'ports that are taken',
    change: meshConfig('proxyListenPort: 15020\nproxyInboundListenPort: 15020'),
    found: [
      "MESH113 ConfigMap mesh-system/mesh: proxyInboundListenPort 15020 is the agent's status port",
      "MESH113 ConfigMap mesh-system/mesh: proxyListenPort 15020 is the agent's status port",
      'MESH113 ConfigMap mesh-system/mesh: proxyListenPort and proxyInboundListenPort are both 15020',
    ],
  },
  {
    title: 'a mixs that is no service, or not on that port',
    change: meshConfig(
      'mixerCheckServer: mixs.foo.svc.cluster.local:9091\nmixerReportServer: httpbin.foo.svc.cluster.local:9091',
    ),
    found: [
      'MESH115 ConfigMap mesh-system/mesh: mixerCheckServer: no service of the mesh has the host name mixs.foo.svc.cluster.local: every request to a sidecar is refused with 503; correct the name, create the service, or set disablePolicyChecks: true',
      'MESH115 ConfigMap mesh-system/mesh: mixerReportServer: httpbin.foo.svc.cluster.local has no port 9091, but 8000, 9000: nothing is reported; correct the name, or create the service',
    ],
  },
  {
    title: 'an injection configuration with a mistake',
    change: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mesh-sidecar-injector, namespace: mesh-system}\ndata: {config: "policy: always\\ntemplate: x"}\n`,
    found: ['MESH114 ConfigMap mesh-system/mesh-sidecar-injector: key "config": policy: must be enabled or disabled'],
  },
];

const pod = (name: string, more = '', spec = 'containers: [{name: a}]'): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, namespace: foo${more}}\nspec: {${spec}}\n`;

const INJECTION: readonly Row[] = [
  {
    title: 'a pod that started without its sidecar',
    change: pod('bare'),
    found: ['MESH701 Pod foo/bare: has no sidecar, though its namespace is labelled and the injection policy is enabled'],
  },
  {
    title: 'a pod of the control plane that asked for a sidecar and started without',
    change: ['mixs', 'pilot']
      .map((name) => pod(name, name === 'mixs' ? ', labels: {mesh-injection: enabled}' : ''))
      .join('---\n')
      .replaceAll('namespace: foo', 'namespace: mesh-system'),
    found: ['MESH701 Pod mesh-system/mixs: has no sidecar, though it is labelled and the injection policy is enabled'],
  },
  { title: 'a pod that does not want one', change: pod('bare', ', annotations: {sidecar.mesh.io/inject: "false"}'), found: [] },
  {
    title: 'a pod that cannot have one',
    change: pod('agent', '', 'hostNetwork: true, containers: [{name: a}]'),
    found: ['MESH704 Pod foo/agent: the pod uses the network of its host, so it has no sidecar in a namespace of the mesh'],
  },
  {
    title: 'a sidecar of an older template',
    change: pod('aged', `, annotations: {sidecar.mesh.io/status: '{"version":"0123456789abcdef"}'}`),
    found: [`MESH702 Pod foo/aged: was injected with template 0123456789ab, new pods get ${'VERSION'}`],
  },
  {
    title: 'a sidecar of another image',
    change: pod(
      'aged',
      `, annotations: {sidecar.mesh.io/status: '{"version":"FULLVERSION"}'}`,
      'containers: [{name: a}, {name: mesh-proxy, image: "mesh/proxy:0.1"}]',
    ),
    found: ['MESH702 Pod foo/aged: runs the proxy image mesh/proxy:0.1, new pods get IMAGE'],
  },
  ...(
    [
      ['{mesh-injection: "true"}', 'mesh-injection=true'],
      ['{mesh-injetcion: enabled}', 'mesh-injetcion=enabled'],
      ['{istio-injection: enabled}', 'istio-injection=enabled'],
    ] as const
  ).map(([labels, shown]) => ({
    title: `a namespace labelled ${labels}`,
    change: `apiVersion: v1\nkind: Namespace\nmetadata: {name: legacy, labels: ${labels}}\n`,
    found: [`MESH703 Namespace legacy: the label ${shown} does not turn injection on; mesh-injection=enabled does`],
  })),
  {
    title: 'a namespace that is labelled otherwise',
    change: 'apiVersion: v1\nkind: Namespace\nmetadata: {name: legacy, labels: {mesh-injection: disabled, team: a}}\n',
    found: [],
  },
];

describe('meshctl analyze', () => {
  let healthy: ObjectSet;
  let ca: TestCa;
  let other: TestCa;
  let leaf: X509Certificate;
  const config = parseInjectionConfig(DEFAULT_INJECTION_CONFIG);
  if (!config.ok) throw new Error('the built-in configuration is bad');
  const version = hash(config.value.template);

  before(async () => {
    ca = await makeRoot();
    other = await makeRoot();
    leaf = await leafOf(ca);
    const injected = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'httpbin-1',
        namespace: 'foo',
        labels: { app: 'httpbin' },
        annotations: { [names.statusAnnotation]: JSON.stringify({ version }) },
      },
      spec: { containers: [{ name: 'httpbin', ports: [{ name: 'web', containerPort: 80 }] }] },
    };
    const objects = [
      ...fromYaml(HEALTHY),
      injected,
      configMap('mesh-sidecar-injector', 'mesh-system', { config: DEFAULT_INJECTION_CONFIG }),
      configMap('mesh-ca-root-cert', 'foo', { 'root-cert.pem': ca.certificate.toString() }),
      caSecret(ca),
      workloadSecret('foo', 'httpbin', leaf, ca),
      workloadSecret('mesh-system', 'mesh-sidecar-injector-service-account', leaf, ca),
      webhook({ caBundle: base64(ca.certificate.toString()) }),
    ];
    healthy = { objects: byKind(objects), rules: NO_RULES, unread: new Set(), unserved: [], isCluster: true };
  });

  async function leafOf(authority: TestCa, id = 'spiffe://cluster.local/ns/foo/sa/httpbin'): Promise<X509Certificate> {
    const pair = await generateKeyPair('ec-p256');
    return signLeaf(authority, leafTemplate(pair, { names: [{ type: 'uri', value: id }] }));
  }

  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  function configMap(name: string, namespace: string, data: Readonly<Record<string, string>>): KubeObject {
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data };
  }

  function caSecret({ certificate }: TestCa): KubeObject {
    const metadata = { name: 'mesh-ca-secret', namespace: 'mesh-system' };
    return { apiVersion: 'v1', kind: 'Secret', metadata, data: { 'ca-cert.pem': base64(certificate.toString()) } };
  }

  function workloadSecret(namespace: string, account: string, certificate: X509Certificate, root: TestCa): KubeObject {
    const data = { 'cert-chain.pem': base64(certificate.toString()), 'root-cert.pem': base64(root.certificate.toString()) };
    const metadata = { name: `mesh.${account}`, namespace };
    return { apiVersion: 'v1', kind: 'Secret', metadata, type: names.keyAndCertType, data };
  }

  function webhook(clientConfig: Readonly<Record<string, unknown>>, fields: Readonly<Record<string, unknown>> = {}): KubeObject {
    const target = { name: 'mesh-sidecar-injector', namespace: 'mesh-system', path: '/inject', port: 443 };
    return {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'mesh-sidecar-injector' },
      webhooks: [
        {
          name: names.webhookName,
          failurePolicy: 'Fail',
          namespaceSelector: { matchLabels: { 'mesh-injection': 'enabled' } },
          clientConfig: { service: target, ...clientConfig },
          ...fields,
        },
      ],
    };
  }

  function found(
    set: ObjectSet,
    now = new Date(NOW.getTime() + 3600_000),
    templates: readonly KubeObject[] = [],
    rootNamespace = 'mesh-system',
  ): readonly string[] {
    const state = meshState(set, { names, rootNamespace, domain: 'cluster.local', now, hash, templates });
    return analyse(state).map(({ code, subject, message }) => `${code} ${describeSubject(subject)}: ${message}`);
  }

  const changed = (...objects: readonly KubeObject[]): ObjectSet => mergeObjects(healthy, byKind(objects));
  const without = (kind: AnalysedKind, name: string): ObjectSet => ({
    ...healthy,
    objects: { ...healthy.objects, [kind]: healthy.objects[kind].filter(({ metadata }) => metadata.name !== name) },
  });

  it('finds nothing in a healthy mesh', () => {
    expect(found(healthy)).to.deep.equal([]);
  });

  for (const [about, rows] of Object.entries({ POLICIES, TOKENS, SERVICES, CONFIGURATION, INJECTION })) {
    describe(`of ${about.toLowerCase()}`, () => {
      for (const row of rows) {
        it(`finds ${row.title}`, () => {
          const image = config.value.values.proxyImage;
          const expected = row.found.map((text) => text.replace('VERSION', version.slice(0, 12)).replace('IMAGE', image));
          expect(found(changed(...fromYaml(row.change.replace('FULLVERSION', version))))).to.deep.equal(expected);
        });
      }
    });
  }

  it('finds objects that the mesh cannot use, but knows of none that it would miss', () => {
    const bad = fromYaml(service('web', 'ports: [{name: http, port: 80}]').replace('10.0.0.8', 'x.y'));
    expect(found(changed(...bad))).to.deep.equal(['MESH102 Service foo/web: spec.clusterIP: "x.y" is not an IP address']);
  });

  it('looks for the control plane where it is said to be', () => {
    const map = (namespace: string): string => meshConfig('authPolicy: MUTUAL', namespace);
    const set = changed(...fromYaml(`${map('elsewhere')}---\n${meshConfig('{}')}`));
    const ofMaps = (texts: readonly string[]): readonly string[] =>
      texts.filter((text) => text.includes('/mesh:')).map((text) => text.slice(0, 32));
    expect(ofMaps(found(set))).to.deep.equal(['MESH112 ConfigMap elsewhere/mesh']);
    expect(ofMaps(found(set, undefined, [], 'elsewhere'))).to.deep.equal(
      ['MESH111 ConfigMap elsewhere/mesh', 'MESH112 ConfigMap mesh-system/mes'].map((text) => text.slice(0, 32)),
    );
  });

  it('finds kinds that the API server does not serve', () => {
    expect(found({ ...healthy, unserved: ['policy'], unread: new Set(['policy']) })).to.deep.equal([
      'MESH104 CustomResourceDefinition policies.authentication.mesh.io: the API server does not serve Policy of authentication.mesh.io/v1alpha1',
    ]);
  });

  describe('of certificates', () => {
    const at = (days: number): Date => new Date(NOW.getTime() + days * DAY * 1000);

    it('finds workload certificates that are not renewed, then expired', () => {
      const set = changed(caSecret(ca));
      expect(found(set, new Date(NOW.getTime() + 0.8 * DAY * 1000))).to.deep.equal([
        `MESH502 Secret foo/mesh.httpbin: cert-chain.pem: a certificate without subject (serial ${leaf.serialNumber}) expires at ${leaf.validToDate.toISOString()}, in 0 days`,
        `MESH502 Secret mesh-system/mesh.mesh-sidecar-injector-service-account: cert-chain.pem: a certificate without subject (serial ${leaf.serialNumber}) expires at ${leaf.validToDate.toISOString()}, in 0 days`,
      ]);
      expect(found(set, at(2)).map((text) => text.slice(0, 30))).to.deep.equal([
        'MESH501 Secret foo/mesh.httpbi',
        'MESH501 Secret mesh-system/mes',
      ]);
    });

    it('finds an authority that ends within three months, wherever it is', () => {
      const ends = found(healthy, at(300)).filter((text) => text.startsWith('MESH502'));
      expect(ends.map((text) => text.replace(/O=test \(serial \w+\) expires at \S+,/, '...,'))).to.deep.equal([
        'MESH502 ConfigMap foo/mesh-ca-root-cert: root-cert.pem: ..., in 65 days',
        'MESH502 MutatingWebhookConfiguration mesh-sidecar-injector: caBundle: ..., in 65 days',
        'MESH502 Secret foo/mesh.httpbin: root-cert.pem: ..., in 65 days',
        'MESH502 Secret mesh-system/mesh-ca-secret: ca-cert.pem: ..., in 65 days',
        'MESH502 Secret mesh-system/mesh.mesh-sidecar-injector-service-account: root-cert.pem: ..., in 65 days',
      ]);
    });

    it('does not mind an old root beside one that lives', async () => {
      const short = await makeRoot('ec-p256', validityFrom(NOW, seconds(1)));
      const bundle = `${short.certificate}${ca.certificate}`;
      expect(found(changed(configMap('mesh-ca-root-cert', 'foo', { 'root-cert.pem': bundle })))).to.deep.equal([]);
    });

    it('finds certificates that are none', () => {
      const broken = configMap('mesh-ca-root-cert', 'foo', { 'root-cert.pem': '-----BEGIN CERTIFICATE-----\nAAAA\n' });
      expect(found(changed(broken))).to.deep.equal([
        'MESH503 ConfigMap foo/mesh-ca-root-cert: root-cert.pem: 1 of 1 PEM blocks are damaged or not closed',
      ]);
    });

    it('finds certificates of another root and of another trust domain', async () => {
      const foreign = await leafOf(other, 'spiffe://elsewhere/ns/foo/sa/httpbin');
      const texts = found(changed(workloadSecret('foo', 'httpbin', foreign, ca)));
      expect(texts.map((text) => text.replace(/\w+\) is/, '...) is'))).to.deep.equal(
        [
          'MESH504 Secret foo/mesh.httpbin: a certificate without subject (serial ...) is not issued by any of the given roots or intermediates',
          'MESH507 Secret foo/mesh.httpbin: cert-chain.pem is of trust domain elsewhere, the mesh is cluster.local',
        ].map((text) => text.replace('httpbin: a cert', 'httpbin: cert-chain.pem: a cert').replace('...) is not', '...) is not')),
      );
    });

    it('does not mind certificates of any root that is still trusted, whatever signs now', () => {
      const text = (...roots: readonly TestCa[]): string => roots.map(({ certificate }) => certificate.toString()).join('');
      const foo = configMap('mesh-ca-root-cert', 'foo', { 'root-cert.pem': text(other, ca) });
      const published = configMap('mesh-ca-root-cert', 'mesh-system', { 'root-cert.pem': text(other, ca) });
      const untrusted = [
        'MESH504 Secret foo/mesh.httpbin',
        'MESH504 Secret mesh-system/mesh.mesh-sidecar-injector-service-account',
      ];
      const subjects = (set: ObjectSet): readonly string[] => found(set).map((line) => line.split(':', 1)[0] ?? '');
      expect(subjects(changed(caSecret(other), foo))).to.deep.equal(untrusted);
      expect(subjects(changed(caSecret(other), foo, published))).to.deep.equal([]);
    });

    it('knows the roots of an authority that keeps them elsewhere by what it has published', () => {
      const { objects } = without('secret', 'mesh-ca-secret');
      const published = (root: TestCa): KubeObject =>
        configMap('mesh-ca-root-cert', 'mesh-system', { 'root-cert.pem': root.certificate.toString() });
      const codesBelow = (root: TestCa): readonly string[] =>
        found(mergeObjects({ ...healthy, objects }, byKind([published(root)]))).map((line) => line.slice(0, 8));
      expect(codesBelow(ca)).to.deep.equal([]);
      expect(codesBelow(other)).to.deep.equal(['MESH504 ', 'MESH504 ']);
    });

    it('finds namespaces that lack the root, or have another one', () => {
      expect(found(without('configMap', 'mesh-ca-root-cert'))).to.deep.equal([
        'MESH505 Namespace foo: has no ConfigMap mesh-ca-root-cert, which its sidecars mount',
      ]);
      const wrong = configMap('mesh-ca-root-cert', 'foo', { 'root-cert.pem': other.certificate.toString() });
      expect(found(changed(wrong))).to.deep.equal([
        'MESH506 ConfigMap foo/mesh-ca-root-cert: root-cert.pem lacks the root of Secret mesh-system/mesh-ca-secret, so peers do not trust one another',
      ]);
    });
  });

  describe('of the webhook', () => {
    const bundle = (): string => base64(ca.certificate.toString());
    const NAME = 'MutatingWebhookConfiguration mesh-sidecar-injector';

    it('finds that it is not there', () => {
      expect(found(without('mutatingWebhookConfiguration', 'mesh-sidecar-injector'))).to.deep.equal([
        'MESH601 Namespace foo: is labelled mesh-injection=enabled, but there is no webhook sidecar-injector.mesh.io: its pods get no sidecar',
      ]);
    });

    it('does not miss it where there are no webhooks', () => {
      const set = { ...without('mutatingWebhookConfiguration', 'mesh-sidecar-injector'), isCluster: false };
      expect(found(set)).to.deep.equal([]);
    });

    it('finds that it calls nobody', () => {
      expect(found(without('service', 'mesh-sidecar-injector'))).to.deep.equal([
        `MESH602 ${NAME}: there is no service mesh-sidecar-injector.mesh-system: no pod of a labelled namespace can be created`,
      ]);
      const other = webhook({
        caBundle: bundle(),
        service: { name: 'mesh-sidecar-injector', namespace: 'mesh-system', port: 8443 },
      });
      expect(found(changed(other))).to.deep.equal([
        `MESH602 ${NAME}: there is no port 8443 of service mesh-sidecar-injector.mesh-system: no pod of a labelled namespace can be created`,
      ]);
      expect(found(without('endpointSlice', 'injector-x'))).to.deep.equal([
        `MESH603 ${NAME}: service mesh-sidecar-injector.mesh-system has no ready endpoint: no pod of a labelled namespace can be created`,
      ]);
    });

    it('finds a CA bundle that is missing, broken, or of another authority', () => {
      expect(found(changed(webhook({ caBundle: '' })))).to.deep.equal([
        `MESH604 ${NAME}: caBundle is empty, so the API server trusts nobody: no pod of a labelled namespace can be created`,
      ]);
      expect(found(changed(webhook({ caBundle: base64('nothing') }))).map((text) => text.slice(0, 8))).to.deep.equal([
        'MESH503 ',
        'MESH604 ',
      ]);
      expect(found(changed(webhook({ caBundle: base64(other.certificate.toString()) })))).to.deep.equal([
        `MESH605 ${NAME}: caBundle does not lead to the certificate of Secret mesh-system/mesh.mesh-sidecar-injector-service-account, a certificate without subject (serial ${leaf.serialNumber})`,
      ]);
    });

    it('looks at the one for pods of the control plane too', () => {
      const own = webhook({ caBundle: '' }, { name: names.ownWebhookName, failurePolicy: 'Ignore', namespaceSelector: {} });
      expect(found(changed(webhook({ caBundle: bundle() }), { ...own, metadata: { name: 'own' } }))).to.deep.equal([
        'MESH604 MutatingWebhookConfiguration own: caBundle is empty, so the API server trusts nobody: new pods of mixs start without a sidecar',
        'MESH606 MutatingWebhookConfiguration own: failurePolicy is Ignore: while nobody answers, new pods of mixs start without a sidecar',
      ]);
    });

    it('looks at the one that validates policies too', () => {
      const validation = {
        ...webhook({ caBundle: '' }, { name: names.validationWebhookName, failurePolicy: 'Ignore', namespaceSelector: {} }),
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: 'mesh-policy-validation' },
      };
      const own = (text: string): string => text.replace('ValidatingWebhookConfiguration mesh-policy-validation', 'V');
      expect(found(changed(validation)).map(own)).to.deep.equal([
        'MESH604 V: caBundle is empty, so the API server trusts nobody: policies are stored unchecked',
        'MESH606 V: failurePolicy is Ignore: while nobody answers, policies are stored unchecked',
      ]);
    });

    it('finds settings that let pods go without a sidecar', () => {
      const lax = webhook({ caBundle: bundle() }, { failurePolicy: 'Ignore', namespaceSelector: { matchLabels: { a: 'b' } } });
      expect(found(changed(lax))).to.deep.equal([
        `MESH607 ${NAME}: its namespaceSelector leaves out namespaces with the label mesh-injection=enabled`,
        `MESH606 ${NAME}: failurePolicy is Ignore: while nobody answers, new pods start without a sidecar`,
      ]);
    });
  });

  describe('of what is only partly known', () => {
    it('finds nothing missing that may be elsewhere', () => {
      const policies = byKind(
        fromYaml(
          `${policy('p', '{targets: [{name: httpbin}], peers: [{mtls: {}}]}')}---\n${onPort('issuer: i, jwksUri: "http://jwks.foo/k"')}`,
        ),
      );
      expect(found(onlyFiles({ ...NO_OBJECTS, policy: policies.policy.slice(0, 1) }))).to.deep.equal([]);
    });

    it('takes the templates of workloads for pods', () => {
      const template: KubeObject = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'web', namespace: 'foo', labels: { app: 'web' } },
        spec: { containers: [{ name: 'web' }] },
      };
      const set = changed(...fromYaml(service('web', 'ports: [{name: http, port: 80}]').replace('httpbin', 'web')));
      expect(found(set).map((text) => text.slice(0, 23))).to.deep.equal(['MESH402 Service foo/web']);
      expect(found(set, undefined, [template])).to.deep.equal([]);
    });
  });

  it('has a code for everything that is found here', () => {
    // Those of mixs are in a test of their own.
    const source = JSON.stringify([POLICIES, TOKENS, SERVICES, CONFIGURATION, INJECTION]);
    const elsewhere = /^MESH(?:10[234]|306|50\d|60\d|80\d)$/;
    const untested = Object.keys(CATALOGUE).filter((code) => !source.includes(code) && !elsewhere.test(code));
    expect(untested).to.deep.equal([]);
  });
});
