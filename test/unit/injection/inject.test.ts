import { expect } from 'chai';
import fc from 'fast-check';
import { parseCommandLine } from '../../../src/flags/parse.ts';
import { injectPod } from '../../../src/injection/inject.ts';
import type { PodManifest } from '../../../src/injection/pod.ts';
import { DEFAULT_SETTINGS } from '../../../src/injection/settings.ts';
import { initFlags } from '../../../src/mesh-init/flags.ts';
import { proxyFlags } from '../../../src/pilot-agent/flags.ts';
import { fakeInjection, IN_MESH, requireInjected } from '../../fakes/injection.ts';
import { PODS } from '../../fakes/pods.ts';

const CONTEXT = fakeInjection();
const STATUS = CONTEXT.names.statusAnnotation;

function podWith(metadata: Record<string, unknown> = {}, spec: Record<string, unknown> = {}) {
  return { metadata: { name: 'web-1', ...metadata }, spec: { containers: [{ name: 'web', image: 'web' }], ...spec } };
}

function injected(pod: unknown): PodManifest {
  return requireInjected(injectPod(pod, IN_MESH, CONTEXT)).pod;
}

function itemsNamed(pod: PodManifest, list: 'containers' | 'initContainers' | 'volumes', name: string) {
  return (pod.spec[list] ?? []).filter((item) => item.name === name);
}

function argsOf(pod: PodManifest, list: 'containers' | 'initContainers', name: string): string[] {
  return itemsNamed(pod, list, name).flatMap((container) => container['args'] as string[]);
}

/** Any text, with what would break out of YAML, JSON or Liquid among it. */
const TEXT = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '"}], "privileged": true, "x": [{"',
    "'\n  privileged: true\n",
    '{{ settings.proxyImage }}',
    '{% raw %}',
    '\uE0000\uE001',
    '- x',
    '#',
  ),
);
/** What an older version of the built-in template could have been. */
const OLD_TEMPLATE = `
initContainers:
- {name: old-init, image: old}
containers:
- {name: mesh-proxy, image: old, args: [--statusPort, "15021"]}
volumes:
- {name: old-volume, emptyDir: {}}
labels: {old: "1"}
annotations: {old: "1"}
securityContext: {fsGroup: 5, supplementalGroups: [5]}
`;

/**
 * A pod of which nothing is left of what the forms of a manifest leave open: empty fields stand for absent ones, and ports
 * that probes and hooks name for their numbers.
 */
function normal(pod: PodManifest): unknown {
  const text = JSON.stringify(pod, (_, value) =>
    typeof value === 'object' && value !== null && Object.keys(value).length === 0 ? undefined : value,
  );
  return JSON.parse(text.replaceAll('"port":"http"', '"port":8080'));
}

const LABELS = fc.dictionary(TEXT, TEXT, { maxKeys: 4 });

describe('injection into a pod', () => {
  it('puts the proxy before the pod’s containers and the redirection after its init containers', () => {
    const pod = injected(podWith({}, { initContainers: [{ name: 'migrate' }] }));
    expect(pod.spec.containers.map(({ name }) => name)).to.deep.equal(['mesh-proxy', 'web']);
    expect(pod.spec.initContainers?.map(({ name }) => name)).to.deep.equal(['migrate', 'mesh-init']);
    expect(pod.metadata?.annotations?.['kubectl.kubernetes.io/default-container']).to.equal('web');
  });

  it('says in the status annotation what it added', () => {
    const status: unknown = JSON.parse(injected(podWith()).metadata?.annotations?.[STATUS] ?? '');
    expect(status).to.deep.equal({
      version: 'template-hash',
      initContainers: ['mesh-init'],
      containers: ['mesh-proxy'],
      volumes: ['mesh-envoy', 'mesh-podinfo', 'mesh-token', 'mesh-ca-root-cert'],
      imagePullSecrets: null,
      annotations: { 'kubectl.kubernetes.io/default-container': 'web' },
      securityContext: { fsGroup: 1337 },
    });
  });

  it('gives the sidecar and its init container no more privileges than they need', () => {
    const pod = injected(podWith());
    expect(itemsNamed(pod, 'initContainers', 'mesh-init')[0]?.['securityContext']).to.deep.equal({
      runAsUser: 0,
      runAsGroup: 0,
      runAsNonRoot: false,
      privileged: false,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'NET_RAW'] },
    });
    expect(itemsNamed(pod, 'containers', 'mesh-proxy')[0]?.['securityContext']).to.include({
      runAsUser: 1337,
      runAsNonRoot: true,
    });
  });

  it('keeps what the pod says itself: its group, its default container, its pull secrets', () => {
    const context = fakeInjection({ imagePullSecrets: ['registry', 'other'] });
    const own = podWith(
      { annotations: { 'kubectl.kubernetes.io/default-container': 'mine' } },
      { securityContext: { fsGroup: 5 }, imagePullSecrets: [{ name: 'registry' }] },
    );
    const { pod } = requireInjected(injectPod(own, IN_MESH, context));
    expect(pod.spec.securityContext).to.deep.equal({ fsGroup: 5 });
    expect(pod.spec.imagePullSecrets).to.deep.equal([{ name: 'registry' }, { name: 'other' }]);
    expect(pod.metadata?.annotations?.['kubectl.kubernetes.io/default-container']).to.equal('mine');
    expect(pod.metadata?.annotations?.[STATUS]).to.contain('"imagePullSecrets":["other"]');
  });

  it('passes arguments that mesh-init and pilot-agent understand', () => {
    const annotations = {
      'traffic.sidecar.mesh.io/includeOutboundIPRanges': '10.0.0.0/8',
      'traffic.sidecar.mesh.io/excludeInboundPorts': '9000',
      'traffic.sidecar.mesh.io/excludeOutboundPorts': '3306',
      'sidecar.mesh.io/logLevel': 'debug',
    };
    const pod = injected(podWith({ annotations, labels: { app: 'shop' } }));
    const init = parseCommandLine(initFlags, [], argsOf(pod, 'initContainers', 'mesh-init'), {});
    expect(init)
      .to.have.nested.property('value.invocation.options')
      .that.deep.includes({
        'proxy-port': 15001,
        'inbound-capture-port': 15006,
        'proxy-uid': 1337,
        mode: 'REDIRECT',
        'include-outbound-ranges': ['10.0.0.0/8'],
        'exclude-outbound-ranges': [],
        'inbound-ports': ['*'],
        'exclude-inbound-ports': ['15020', '15090', '9000'],
        'exclude-outbound-ports': ['3306'],
      });
    const [command, ...agentArgs] = argsOf(pod, 'containers', 'mesh-proxy');
    const agent = parseCommandLine(proxyFlags, [], agentArgs, {});
    expect(command).to.equal('proxy');
    expect(agent)
      .to.have.nested.property('value.invocation.options')
      .that.includes({ serviceCluster: 'shop', proxyLogLevel: 'debug', bootstrapv2: true });
  });

  it('redirects nothing outbound when asked for no range', () => {
    const pod = injected(podWith({ annotations: { 'traffic.sidecar.mesh.io/includeOutboundIPRanges': '' } }));
    const args = argsOf(pod, 'initContainers', 'mesh-init');
    expect(args[args.indexOf('-i') + 1]).to.equal('');
  });

  it('does it again without changing anything, whatever the pod', () => {
    fc.assert(
      fc.property(PODS, LABELS, (pod, labels) => {
        const once = injected({ ...pod, metadata: { ...pod.metadata, labels } });
        const twice = requireInjected(injectPod(once, IN_MESH, CONTEXT));
        expect(twice.patch).to.deep.equal([]);
        expect(twice.pod).to.deep.equal(once);
      }),
    );
  });

  it('gives a pod with the sidecar of an earlier template what a plain one gets, whatever the pod', () => {
    const earlier = fakeInjection({
      imagePullSecrets: ['old-secret'],
      template: OLD_TEMPLATE,
      values: { ...DEFAULT_SETTINGS, nativeSidecar: 'true' },
    });
    fc.assert(
      fc.property(PODS, (pod) => {
        const old = requireInjected(injectPod(pod, IN_MESH, earlier)).pod;
        expect(JSON.stringify(old)).to.contain('old-volume');
        expect(normal(injected(old))).to.deep.equal(normal(injected(pod)));
      }),
    );
  });

  it('replaces the sidecar of an earlier template', () => {
    const earlier = fakeInjection({
      template: 'containers:\n- name: mesh-proxy\n  image: old\n- name: gone\nvolumes:\n- name: old-volume',
    });
    const old = requireInjected(injectPod(podWith(), IN_MESH, earlier)).pod;
    const { containers, volumes } = injected(old).spec;
    expect(containers.map(({ name }) => name)).to.deep.equal(['mesh-proxy', 'web']);
    expect(containers[0]?.['image']).to.equal('mesh/proxy');
    expect(volumes?.map(({ name }) => name)).to.not.include('old-volume');
  });

  it('takes back what an earlier template set, but for what somebody has changed since', () => {
    const template =
      'labels: {old: "1", changed: "1", own: "1"}\nannotations: {old: x}\nsecurityContext: {fsGroup: 5, runAsUser: 7}\ncontainers: [{name: gone}]';
    const old = requireInjected(injectPod(podWith({ labels: { own: '1' } }), IN_MESH, fakeInjection({ template }))).pod;
    const labels = { ...old.metadata?.labels, changed: '2' };
    const pod = injected({ ...old, metadata: { ...old.metadata, labels } });
    expect(pod).to.deep.equal(injected(podWith({ labels: { own: '1', changed: '2' } }, { securityContext: {} })));
  });

  it('lets no label, annotation or name change anything but the texts it is meant for', () => {
    const plain = injected(podWith({ labels: { app: 'APP' } }));
    fc.assert(
      fc.property(LABELS, LABELS, TEXT, TEXT, (labels, annotations, name, app) => {
        const pod = injected(podWith({ name, labels: { ...labels, app }, annotations }));
        const sidecar = JSON.stringify([itemsNamed(pod, 'containers', 'mesh-proxy'), pod.spec.initContainers, pod.spec.volumes]);
        const expected = JSON.stringify([
          itemsNamed(plain, 'containers', 'mesh-proxy'),
          plain.spec.initContainers,
          plain.spec.volumes,
        ]);
        expect(sidecar).to.equal(expected.replace('"APP"', () => JSON.stringify(app === '' ? 'mesh-proxy' : app)));
        expect(pod.metadata?.annotations).to.deep.include(annotations);
      }),
    );
  });

  for (const name of [
    'includeOutboundIPRanges',
    'excludeOutboundIPRanges',
    'includeInboundPorts',
    'excludeInboundPorts',
    'excludeOutboundPorts',
  ]) {
    it(`refuses text that would break out of traffic annotation ${name}, naming pod and annotation`, () => {
      const annotation = `traffic.sidecar.mesh.io/${name}`;
      for (const text of ['80"\n  privileged: true', '80", "--clean', '{{ x }}']) {
        expect(() => injected(podWith({ annotations: { [annotation]: text } }))).to.throw(
          `pod foo/web-1: annotation ${annotation} is `,
        );
      }
    });
  }

  for (const [title, pod, message] of [
    [
      'a container named like the proxy',
      podWith({}, { containers: [{ name: 'mesh-proxy' }] }),
      'spec.containers has its own "mesh-proxy"',
    ],
    [
      'an init container named like the proxy',
      podWith({}, { initContainers: [{ name: 'mesh-proxy' }] }),
      'spec.initContainers has its own "mesh-proxy"',
    ],
    [
      'a volume named like one of the sidecar',
      podWith({}, { volumes: [{ name: 'mesh-token' }] }),
      'spec.volumes has its own "mesh-token"',
    ],
    [
      'a container that runs as the proxy’s user',
      podWith({}, { containers: [{ name: 'web', securityContext: { runAsUser: 1337 } }] }),
      'container web runs as user 1337',
    ],
    [
      'a pod that runs as the proxy’s user',
      podWith({}, { securityContext: { runAsUser: 1337 } }),
      'container web runs as user 1337',
    ],
    [
      'a container in the proxy’s group',
      podWith({}, { containers: [{ name: 'web', securityContext: { runAsGroup: 1337 } }] }),
      'container web runs as group 1337',
    ],
    [
      'a native sidecar that runs as the proxy’s user',
      podWith({}, { initContainers: [{ name: 'logs', restartPolicy: 'Always', securityContext: { runAsUser: 1337 } }] }),
      'container logs runs as user 1337',
    ],
    [
      'a status that injection did not write',
      podWith({ annotations: { [STATUS]: 'injected' } }),
      `annotation ${STATUS} is not what`,
    ],
    ['labels that are no texts', podWith({ labels: { version: 1 } }), 'metadata.labels must map names to texts'],
    ['a pod without containers', { metadata: {}, spec: {} }, 'spec.containers must be there'],
    ['a text', 'pod', 'must be an object'],
    [
      'a container without a name',
      podWith({}, { containers: [{ image: 'x' }] }),
      'spec.containers must be a list of objects with a name',
    ],
  ] as const) {
    it(`refuses ${title}`, () => {
      expect(() => injected(pod))
        .to.throw(message)
        .with.property('code', 'invalid');
    });
  }

  it('leaves alone, and does not judge, a pod that is not to be injected', () => {
    const pod = podWith({ annotations: { 'sidecar.mesh.io/inject': 'false', 'sidecar.mesh.io/logLevel': 'loud' } });
    expect(injectPod(pod, IN_MESH, CONTEXT)).to.have.property('type', 'skipped');
  });

  it('never changes the pod it was given', () => {
    const pod = podWith({ labels: { app: 'web' } }, { securityContext: {}, volumes: [] });
    const before = structuredClone(pod);
    injected(pod);
    expect(pod).to.deep.equal(before);
  });
});
