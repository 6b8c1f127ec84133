import { expect } from 'chai';
import { injectPod } from '../../../src/injection/inject.ts';
import type { PodManifest } from '../../../src/injection/pod.ts';
import { parseAppProbes } from '../../../src/pilot-agent/app-probe.ts';
import { parseAppScrape } from '../../../src/pilot-agent/app-scrape.ts';
import { fakeInjection, IN_MESH, requireInjected } from '../../fakes/injection.ts';

const CONTEXT = fakeInjection();

function podWith(container: Record<string, unknown>, annotations: Record<string, string> = {}) {
  const ports = [{ name: 'http', containerPort: 8080 }];
  return { metadata: { name: 'web-1', annotations }, spec: { containers: [{ name: 'web', image: 'web', ports, ...container }] } };
}

const injected = (pod: unknown): PodManifest => requireInjected(injectPod(pod, IN_MESH, CONTEXT)).pod;
const application = (pod: PodManifest) => pod.spec.containers.find(({ name }) => name === 'web') ?? { name: '' };
function environmentText(pod: PodManifest, name = 'MESH_APP_PROBES'): string {
  const env = pod.spec.containers.find((container) => container.name === 'mesh-proxy')?.['env'] as {
    name: string;
    value: string;
  }[];
  return env.find((each) => each.name === name)?.value ?? '';
}
function variable(pod: PodManifest, name: string): unknown {
  const text = environmentText(pod, name);
  return text === '' ? undefined : JSON.parse(text);
}
const again = (pod: PodManifest) => requireInjected(injectPod(pod, IN_MESH, CONTEXT));

describe('probes of an injected pod', () => {
  const PROBES = {
    livenessProbe: { httpGet: { path: '/live', port: 'http', httpHeaders: [{ name: 'Host', value: 'a' }] }, periodSeconds: 3 },
    readinessProbe: { tcpSocket: { port: 9000 }, timeoutSeconds: 7 },
    startupProbe: { grpc: { port: 9000, service: 'a.B' }, failureThreshold: 30 },
  };

  it('ask the status port, and the agent is told what they were', () => {
    const pod = injected(podWith(PROBES));
    expect(application(pod)).to.deep.include({
      livenessProbe: { periodSeconds: 3, httpGet: { path: '/app-health/web/livez', port: 15020 } },
      readinessProbe: { timeoutSeconds: 7, httpGet: { path: '/app-health/web/readyz', port: 15020 } },
      startupProbe: { failureThreshold: 30, httpGet: { path: '/app-health/web/startupz', port: 15020 } },
    });
    const moved = variable(pod, 'MESH_APP_PROBES');
    expect(moved).to.deep.equal({
      '/app-health/web/livez': { httpGet: { ...PROBES.livenessProbe.httpGet, port: 8080 }, timeoutSeconds: 1 },
      '/app-health/web/readyz': { tcpSocket: { port: 9000 }, timeoutSeconds: 7 },
      '/app-health/web/startupz': { grpc: { port: 9000, service: 'a.B' }, timeoutSeconds: 1 },
    });
    expect(parseAppProbes(JSON.stringify(moved)).ok).to.equal(true);
  });

  it('are the same when the pod is injected again', () => {
    const pod = injected(podWith(PROBES));
    expect(again(pod).patch).to.deep.equal([]);
  });

  it('are what they were where injection may not touch them', () => {
    const pod = injected(podWith(PROBES, { 'sidecar.mesh.io/rewriteAppHTTPProbers': 'false' }));
    expect(application(pod)).to.deep.include(PROBES);
    expect(variable(pod, 'MESH_APP_PROBES')).to.equal(undefined);
  });

  it('follow when the annotation is added to a pod that is injected already', () => {
    const pod = injected(podWith(PROBES));
    const annotations = { ...pod.metadata?.annotations, 'sidecar.mesh.io/rewriteAppHTTPProbers': 'false' };
    const restored = again({ ...pod, metadata: { ...pod.metadata, annotations } }).pod;
    expect(application(restored)['readinessProbe']).to.deep.equal(PROBES.readinessProbe);
  });

  for (const [what, probe] of [
    ['runs a command', { exec: { command: ['true'] } }],
    ['asks another host', { httpGet: { host: 'example.com', port: 80 } }],
    ['names a port that there is not', { tcpSocket: { port: 'metrics' } }],
    ['has a path that no request can have', { httpGet: { port: 80, path: '/a b' } }],
    ['has a header that no request can have', { httpGet: { port: 80, httpHeaders: [{ name: 'a', value: 'b\r\nc: d' }] } }],
    ["asks the proxy's own port", { httpGet: { port: 15020, path: '/healthz/ready' } }],
  ] as const) {
    it(`stay when one ${what}`, () => {
      expect(application(injected(podWith({ livenessProbe: probe })))['livenessProbe']).to.deep.equal(probe);
    });
  }

  it('of init containers stay where the proxy is an ordinary container, which cannot answer yet', () => {
    const probe = { httpGet: { port: 8080 } };
    const init = { name: 'helper', restartPolicy: 'Always', startupProbe: probe };
    const { spec } = podWith({});
    const metadata = { annotations: { 'sidecar.mesh.io/nativeSidecar': 'false' } };
    const pod = injected({ metadata, spec: { ...spec, initContainers: [init] } });
    expect(pod.spec.initContainers?.[0]).to.deep.equal(init);
  });

  it('are told in plain characters, of which the kubelet makes no reference to a variable', () => {
    const grpc = { port: 9000, service: '$(SECRET) \u2028\x7f \u{1F600}' };
    const pod = injected(podWith({ livenessProbe: { grpc } }));
    expect(variable(pod, 'MESH_APP_PROBES')).to.deep.equal({ '/app-health/web/livez': { grpc, timeoutSeconds: 1 } });
    const text = JSON.stringify(pod.spec.containers[0]?.['env']);
    expect(text)
      .to.match(/^[\x20-\x7e]*$/)
      .and.not.to.contain('$');
    const parsed = parseAppProbes(environmentText(pod));
    expect(parsed.ok && parsed.value.get('/app-health/web/livez')?.action).to.deep.equal({ kind: 'grpc', ...grpc });
  });

  it('are the same when the API server has filled in the defaults', () => {
    const pod = injected(podWith({ livenessProbe: { httpGet: { port: 80 } } }));
    const [proxy, web] = pod.spec.containers;
    const livenessProbe = { ...Object(web?.['livenessProbe']), timeoutSeconds: 1, periodSeconds: 10 };
    const defaulted = { ...pod, spec: { ...pod.spec, containers: [proxy, { ...web, livenessProbe }] } } as PodManifest;
    expect(again(defaulted).patch).to.deep.equal([]);
  });
});

describe('lifecycle hooks of an injected pod', () => {
  const HOOKS = {
    lifecycle: {
      postStart: { httpGet: { path: '/started', port: 'http', httpHeaders: [{ name: 'Host', value: 'a' }] } },
      preStop: { httpGet: { path: '/stop', port: 9000, scheme: 'HTTPS' } },
      stopSignal: 'SIGQUIT',
    },
  };

  it('ask the status port, and the agent is told what they were', () => {
    const pod = injected(podWith(HOOKS));
    expect(application(pod)['lifecycle']).to.deep.equal({
      postStart: { httpGet: { path: '/app-lifecycle/web/poststart', port: 15020 } },
      preStop: { httpGet: { path: '/app-lifecycle/web/prestop', port: 15020 } },
      stopSignal: 'SIGQUIT',
    });
    const moved = variable(pod, 'MESH_APP_PROBES');
    expect(moved).to.deep.equal({
      '/app-lifecycle/web/poststart': { httpGet: { ...HOOKS.lifecycle.postStart.httpGet, port: 8080 } },
      '/app-lifecycle/web/prestop': { httpGet: HOOKS.lifecycle.preStop.httpGet },
    });
    expect(parseAppProbes(JSON.stringify(moved)).ok).to.equal(true);
    expect(again(pod).patch).to.deep.equal([]);
  });

  it('are what they were where injection may not touch them, and again when that is said later', () => {
    const refusal = { 'sidecar.mesh.io/rewriteAppHTTPProbers': 'false' };
    expect(application(injected(podWith(HOOKS, refusal)))['lifecycle']).to.deep.equal(HOOKS.lifecycle);
    const pod = injected(podWith(HOOKS));
    const annotations = { ...pod.metadata?.annotations, ...refusal };
    expect(application(again({ ...pod, metadata: { ...pod.metadata, annotations } }).pod)['lifecycle']).to.deep.equal({
      ...HOOKS.lifecycle,
      postStart: { httpGet: { ...HOOKS.lifecycle.postStart.httpGet, port: 8080 } },
    });
  });

  for (const hook of [{ exec: { command: ['true'] } }, { sleep: { seconds: 3 } }, { tcpSocket: { port: 9000 } }]) {
    it(`stay where no request is made: ${Object.keys(hook)}`, () => {
      expect(application(injected(podWith({ lifecycle: { preStop: hook } })))['lifecycle']).to.deep.equal({ preStop: hook });
    });
  }

  it('of native sidecars are answered by a native proxy', () => {
    const { spec } = podWith({});
    const helper = { name: 'helper', restartPolicy: 'Always', lifecycle: { preStop: { httpGet: { port: 9000 } } } };
    const pod = injected({ spec: { ...spec, initContainers: [helper] } });
    expect(pod.spec.initContainers?.[2]?.['lifecycle']).to.deep.equal({
      preStop: { httpGet: { path: '/app-lifecycle/helper/prestop', port: 15020 } },
    });
  });
});

describe('scraping of an injected pod', () => {
  const MERGED = {
    'prometheus.io/scrape': 'true',
    'prometheus.io/port': '15020',
    'prometheus.io/path': '/stats/prometheus',
  };
  const annotated = (annotations: Record<string, string>): PodManifest => injected(podWith({}, annotations));

  for (const [given, moved] of [
    [
      { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '9102' },
      { port: 9102, path: '/metrics' },
    ],
    [
      { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '9102', 'prometheus.io/path': 'a?b=c' },
      { port: 9102, path: '/a?b=c' },
    ],
    [{}, undefined],
  ] as const) {
    it(`goes to the merged statistics, and back, from ${JSON.stringify(given)}`, () => {
      const pod = annotated(given);
      expect(pod.metadata?.annotations).to.include(MERGED);
      expect(variable(pod, 'MESH_APP_SCRAPE')).to.deep.equal(moved);
      if (moved !== undefined) expect(parseAppScrape(JSON.stringify(moved))).to.deep.equal({ ok: true, value: moved });
      expect(again(pod).patch).to.deep.equal([]);
    });
  }

  for (const given of [
    { 'prometheus.io/scrape': 'false', 'prometheus.io/port': '9102' },
    { 'prometheus.io/scrape': 'true' },
    { 'prometheus.io/scrape': 'true', 'prometheus.io/port': 'http' },
    { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '9102', 'prometheus.io/scheme': 'https' },
    { 'prometheus.io/port': '9102' },
    { 'sidecar.mesh.io/mergeMetrics': 'false', 'prometheus.io/scrape': 'true', 'prometheus.io/port': '9102' },
  ] as const) {
    it(`stays as it is for ${JSON.stringify(given)}`, () => {
      const pod = annotated(given);
      expect(pod.metadata?.annotations).to.include(given);
      expect(pod.metadata?.annotations).not.to.include({ 'prometheus.io/path': '/stats/prometheus' });
      expect(variable(pod, 'MESH_APP_SCRAPE')).to.equal(undefined);
      expect(again(pod).patch).to.deep.equal([]);
    });
  }
});
