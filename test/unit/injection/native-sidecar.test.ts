import { expect } from 'chai';
import { injectPod } from '../../../src/injection/inject.ts';
import type { NamedItem, PodManifest } from '../../../src/injection/pod.ts';
import { DEFAULT_SETTINGS } from '../../../src/injection/settings.ts';
import { fakeInjection, IN_MESH, requireInjected } from '../../fakes/injection.ts';

const ANNOTATION = 'sidecar.mesh.io/nativeSidecar';
const NATIVE = fakeInjection({ values: { ...DEFAULT_SETTINGS, nativeSidecar: 'true' } });
const ORDINARY = fakeInjection({ values: { ...DEFAULT_SETTINGS, nativeSidecar: 'false' } });
const PROBE = { tcpSocket: { port: 9000 } };

const pod = (annotations: Record<string, string> = {}) => ({
  metadata: { name: 'job-1', annotations },
  spec: {
    restartPolicy: 'Never',
    initContainers: [
      { name: 'migrate', image: 'app' },
      { name: 'logs', image: 'logs', restartPolicy: 'Always', livenessProbe: PROBE },
    ],
    containers: [{ name: 'app', image: 'app' }],
  },
});

const inject = (manifest: unknown, context = NATIVE) => requireInjected(injectPod(manifest, IN_MESH, context));
const names = (items: readonly NamedItem[] | null | undefined) => (items ?? []).map(({ name }) => name);
const proxyOf = ({ spec }: PodManifest) =>
  [...spec.containers, ...(spec.initContainers ?? [])].find(({ name }) => name === 'mesh-proxy') ?? { name: '' };

describe('a proxy as native sidecar', () => {
  it('runs before everything else of the pod and is asked whether it has started', () => {
    const { spec } = inject(pod()).pod;
    expect(names(spec.initContainers)).to.deep.equal(['mesh-init', 'mesh-proxy', 'migrate', 'logs']);
    expect(names(spec.containers)).to.deep.equal(['app']);
    expect(spec.initContainers?.[1]).to.deep.include({
      restartPolicy: 'Always',
      startupProbe: {
        httpGet: { path: '/healthz/ready', port: 15020 },
        periodSeconds: 1,
        timeoutSeconds: 3,
        failureThreshold: 600,
      },
    });
  });

  it('is the same container otherwise', () => {
    const { restartPolicy: _, startupProbe: __, env: ___, ...native } = proxyOf(inject(pod()).pod);
    const { env: ____, ...ordinary } = proxyOf(inject(pod({ [ANNOTATION]: 'false' }), fakeInjection()).pod);
    expect(native).to.deep.equal(ordinary);
  });

  it('is what a pod asks for or forbids by annotation', () => {
    expect(names(inject(pod({ [ANNOTATION]: 'true' }), fakeInjection()).pod.spec.initContainers)).to.include('mesh-proxy');
    expect(names(inject(pod({ [ANNOTATION]: 'false' })).pod.spec.containers)).to.deep.equal(['mesh-proxy', 'app']);
  });

  it('is what a pod gets unasked only if it has one of its own, which shows that the cluster knows them', () => {
    expect(names(inject(pod(), fakeInjection()).pod.spec.initContainers).slice(0, 2)).to.deep.equal(['mesh-init', 'mesh-proxy']);
    const { metadata, spec } = pod();
    const withoutOwn = { metadata, spec: { ...spec, initContainers: spec.initContainers.slice(0, 1) } };
    expect(names(inject(withoutOwn, fakeInjection()).pod.spec.containers)).to.deep.equal(['mesh-proxy', 'app']);
  });

  it('is what every pod gets in a cluster that is known to have them, unless it or the configuration says no', () => {
    let known = false;
    const plain = (annotations: Record<string, string>, restartPolicy?: string) => ({
      metadata: { name: 'web', annotations },
      spec: { restartPolicy, containers: [{ name: 'app', image: 'app' }] },
    });
    const isNative = (manifest: unknown, context = fakeInjection()): boolean =>
      names(inject(manifest, { ...context, nativeSidecars: () => known }).pod.spec.initContainers).includes('mesh-proxy');
    expect(['Never', 'OnFailure', 'Always', undefined].map((policy) => isNative(plain({}, policy)))).not.to.include(true);
    known = true;
    expect(['Never', 'OnFailure', 'Always', undefined].map((policy) => isNative(plain({}, policy)))).not.to.include(false);
    expect(isNative(plain({ [ANNOTATION]: 'false' }))).to.equal(false);
    expect(isNative(plain({}), ORDINARY)).to.equal(false);
  });

  it('answers probes for native sidecars of the pod’s own, which an ordinary proxy could not do in time', () => {
    const probeOf = ({ spec }: PodManifest) => spec.initContainers?.find(({ name }) => name === 'logs')?.['livenessProbe'];
    const native = inject(pod()).pod;
    expect(probeOf(native)).to.deep.equal({ httpGet: { path: '/app-health/logs/livez', port: 15020 } });
    expect(JSON.stringify(proxyOf(native)?.['env'])).to.contain('/app-health/logs/livez');
    expect(probeOf(inject(pod({ [ANNOTATION]: 'false' })).pod)).to.deep.equal(PROBE);
  });

  it('is not added twice', () => {
    const once = inject(pod()).pod;
    expect(inject(once).patch).to.deep.equal([]);
  });

  it('takes the place of an ordinary one, and the other way round', () => {
    const ordinary = inject(pod(), ORDINARY);
    const native = inject(pod());
    expect(inject(ordinary.pod).pod).to.deep.equal(native.pod);
    expect(inject(native.pod, ORDINARY).pod).to.deep.equal(ordinary.pod);
  });
});
