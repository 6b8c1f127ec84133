/** Pods as people write them: valid for an API server, of every shape that injection looks at. */
import fc from 'fast-check';
import type { JsonObject } from '../../src/injection/shape.ts';

const port = fc.oneof(fc.integer({ min: 1, max: 65_535 }), fc.constant('http'));
const text = fc.constantFrom('a', 'x y', '$(HOME)', '"quoted"', "it's", '{{ a }}', '#', '- x', 'ü');
const headers = fc.array(fc.record({ name: fc.constantFrom('Host', 'x-a'), value: text }), { maxLength: 2 });
const httpGet = fc.record(
  {
    port,
    path: fc.constantFrom('/', '/ok?a=b', '/a b', '/$(HOME)'),
    scheme: fc.constantFrom('HTTP', 'HTTPS'),
    httpHeaders: headers,
  },
  { requiredKeys: ['port'] },
);
const action = fc.oneof(
  httpGet.map((value) => ({ httpGet: value })),
  port.map((value) => ({ tcpSocket: { port: value } })),
  fc.integer({ min: 1, max: 65_535 }).map((value) => ({ grpc: { port: value, service: 'a.B' } })),
  fc.constant({ exec: { command: ['true'] } }),
);
const timing = fc.record(
  { timeoutSeconds: fc.integer({ min: 1, max: 60 }), periodSeconds: fc.integer({ min: 1, max: 60 }) },
  { requiredKeys: [] },
);
const probe = fc.tuple(action, timing).map(([what, when]) => ({ ...what, ...when }));
const hook = fc.oneof(
  httpGet.map((value) => ({ httpGet: value })),
  fc.constant({ exec: { command: ['true'] } }),
);
const lifecycle = fc.record({ postStart: hook, preStop: hook }, { requiredKeys: [] });
const env = fc.array(text, { maxLength: 2 }).map((values) => values.map((value, index) => ({ name: `V${index}`, value })));

function containers(prefix: string, min: number, more: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject[]> {
  const one = fc.tuple(
    fc.record({ env, lifecycle, livenessProbe: probe, readinessProbe: probe, startupProbe: probe }, { requiredKeys: [] }),
    more,
  );
  return fc.array(one, { minLength: min, maxLength: 2 }).map((list) =>
    list.map(([fields, others], index) => ({
      name: `${prefix}-${index}`,
      image: 'registry.example.com/app:1',
      ports: [{ name: 'http', containerPort: 8080 }],
      ...fields,
      ...others,
    })),
  );
}

const ending = fc
  .array(env, { maxLength: 2 })
  .map((list) => list.map((own, index) => ({ name: `init-${index}`, image: 'init:1', env: own })));
const sidecars = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: containers('native', 1, fc.constant({ restartPolicy: 'Always' })) },
);

const annotations = fc.record(
  {
    note: text,
    'prometheus.io/scrape': fc.constantFrom('true', 'false'),
    'prometheus.io/port': fc.constantFrom('9102', 'http'),
    'prometheus.io/path': fc.constantFrom('/stats', 'a?b'),
    'sidecar.mesh.io/logLevel': fc.constantFrom('debug', 'warn'),
    'sidecar.mesh.io/nativeSidecar': fc.constantFrom('true', 'false', 'auto'),
    'sidecar.mesh.io/rewriteAppHTTPProbers': fc.constantFrom('true', 'false'),
    'sidecar.mesh.io/mergeMetrics': fc.constantFrom('true', 'false'),
    'traffic.sidecar.mesh.io/excludeOutboundPorts': fc.constantFrom('3306', '1, 2'),
    'kubectl.kubernetes.io/default-container': fc.constant('app-0'),
  },
  { requiredKeys: [] },
);

/** Metadata without a name, and a spec. */
export const PODS: fc.Arbitrary<{ readonly metadata: JsonObject; readonly spec: JsonObject }> = fc
  .record({
    annotations,
    labels: fc.record({ app: fc.constant('web'), version: fc.constant('v1') }, { requiredKeys: [] }),
    apps: containers('app', 1, fc.constant({})),
    init: fc.tuple(ending, sidecars).map(([one, other]) => [...one, ...other]),
    pod: fc.record(
      {
        securityContext: fc.record({ fsGroup: fc.constant(7), runAsUser: fc.constant(1000) }, { requiredKeys: [] }),
        volumes: fc.constant([{ name: 'mine', emptyDir: {} }]),
        imagePullSecrets: fc.constant([{ name: 'mine' }]),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ annotations: own, labels, apps, init, pod }) => ({
    metadata: { labels, annotations: own },
    spec: { ...pod, containers: apps, ...(init.length > 0 ? { initContainers: init } : {}) },
  }));
