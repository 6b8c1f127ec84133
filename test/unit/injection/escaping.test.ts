/** Whoever may create a pod must not be able to change more of its sidecar than the annotations allow. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { PodNamespace } from '../../../src/injection/decision.ts';
import { injectPod } from '../../../src/injection/inject.ts';
import type { NamedItem, PodManifest } from '../../../src/injection/pod.ts';
import { annotationOf, SETTING_NAMES, type Settings } from '../../../src/injection/settings.ts';
import { compileTemplate } from '../../../src/injection/template.ts';
import { DEFAULT_MESH_CONFIG } from '../../../src/model/mesh-config.ts';
import { fakeInjection, injectionConfig, requireInjected } from '../../fakes/injection.ts';

const CONTEXT = fakeInjection();
/** As people write them, with every kind of YAML's texts. */
const OWN_TEMPLATE = `
containers:
- name: own-proxy
  image: own/proxy
  args: [{{ pod.name }}, "--of={{ pod.namespace }}", '{{ pod.serviceAccountName }}']
  command:
  - proxy
  - {{ pod.defaultContainer }}
  env:
  {%- for label in pod.labels %}
  - name: LABEL_{{ label[0] }}
    value: {{ label[1] }}
  {%- endfor %}
volumes:
- {name: own, hostPath: {path: "/pods/{{ pod.labels.app }}"}}
annotations:
  {%- for annotation in pod.annotations %}
  block: |
    {{ annotation[1] }}
  single: 'it''s {{ annotation[1] }}'
  {%- endfor %}
`;
const TEMPLATE = compileTemplate(injectionConfig().template);

/** What breaks out of YAML, JSON, Liquid, JSON pointers or objects where values are pasted. */
const HOSTILE = [
  '"}], "privileged": true, "x": [{"',
  '", "securityContext": {"privileged": true}, "x": "',
  "'\n  privileged: true\n",
  '\n  securityContext:\n    privileged: true\n  x:',
  'x\r\n- name: evil\r\n',
  '{{ settings.proxyImage }}',
  '{% raw %}',
  '{% endif %}',
  '\uE0000\uE001',
  '- x',
  '# x',
  '*a',
  '&a x',
  '!!binary x',
  '? x\n: y',
  '---\n',
  '%YAML 1.1\n---',
  '__proto__',
  '~1spec~1containers',
  '../../app-health',
  '$&',
  '\0',
  '\uD800',
];
const TEXT = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...HOSTILE, 'constructor', '\u2028'));

/** Every text of a pod that whoever may create pods chooses. */
interface Parts {
  readonly app: string;
  readonly label: string;
  readonly annotation: string;
  readonly name: string;
  readonly generateName: string;
  readonly namespace: string;
  readonly serviceAccountName: string;
  readonly image: string;
  readonly container: string;
  readonly variable: string;
  readonly command: string;
  readonly service: string;
  readonly header: string;
}

const PLAIN: Parts = {
  app: 'the-app',
  label: 'label',
  annotation: 'annotation',
  name: 'name',
  generateName: 'name-',
  namespace: 'foo',
  serviceAccountName: 'account',
  image: 'image',
  container: 'the-container',
  variable: 'variable',
  command: 'command',
  service: 'the-service',
  header: 'the-header',
};

const PARTS: fc.Arbitrary<Parts> = fc.record({
  app: TEXT,
  label: TEXT,
  annotation: TEXT,
  name: TEXT,
  generateName: TEXT,
  namespace: TEXT.filter((text) => !text.startsWith('kube-')),
  serviceAccountName: TEXT,
  image: TEXT,
  container: TEXT.filter((text) => text !== 'mesh-proxy' && text !== 'mesh-init'),
  variable: TEXT,
  command: TEXT,
  service: TEXT,
  // Of the others no request can be made, so that their probes stay; status-port.test.ts shows that.
  header: fc.string({ unit: fc.constantFrom(...'"\'{}[]$(),:#%&* \\a') }),
});

function manifestOf(parts: Parts) {
  const { app, label, annotation, name, generateName, serviceAccountName, image, container } = parts;
  const ownEnv = [{ name: parts.variable, value: parts.variable }];
  const probes = {
    livenessProbe: { grpc: { port: 9000, service: parts.service } },
    readinessProbe: { httpGet: { port: 9000, httpHeaders: [{ name: 'a', value: parts.header }] } },
  };
  return {
    metadata: {
      name,
      generateName,
      labels: { ...Object.fromEntries([[label, label]]), app },
      annotations: Object.fromEntries([[`x${annotation}`, annotation]]),
    },
    spec: {
      serviceAccountName,
      containers: [{ name: container, image, command: [parts.command], env: ownEnv, ...probes }],
    },
  };
}

function injected(parts: Parts, context = CONTEXT): PodManifest {
  const namespace: PodNamespace = { name: parts.namespace, chosen: { by: 'caller' } };
  return requireInjected(injectPod(manifestOf(parts), namespace, context)).pod;
}

/** Everything that injection added: all but the pod's own container, and of the metadata what is not the pod's. */
function addedTo(pod: PodManifest, { annotation }: Parts): unknown {
  const { [`x${annotation}`]: _own, ...annotations } = pod.metadata?.annotations ?? {};
  const { containers, serviceAccountName: _account, ...spec } = pod.spec;
  return { annotations, spec, containers: containers.slice(0, -1).map(withReadEnv) };
}

/** The container with what its variables say in JSON read; all that it says is in plain characters. */
function withReadEnv(container: NamedItem): unknown {
  const env = container['env'] as readonly { readonly value?: string }[];
  const read = env.map((variable) => {
    if (!variable.value?.startsWith('{')) return variable;
    expect(variable.value).to.match(/^[\x20-\x23\x25-\x7e]*$/);
    return { ...variable, value: JSON.parse(variable.value) };
  });
  return { ...container, env: read };
}

describe('what is added to a pod', () => {
  it('differs by values in their places only, whatever the texts of the pod are', () => {
    const plain = addedTo(injected(PLAIN), PLAIN);
    fc.assert(
      fc.property(PARTS, (parts) => {
        const { container, service, header } = parts;
        const app = parts.app === '' ? 'mesh-proxy' : parts.app.replaceAll('$', '$$$$');
        const texts = { 'the-app': app, 'the-container': container, 'the-service': service, 'the-header': header };
        expect(addedTo(injected(parts), parts)).to.deep.equal(replaced(plain, texts));
      }),
    );
  });

  it('leaves the rest of the pod as it was, whatever its texts are', () => {
    fc.assert(
      fc.property(PARTS, (parts) => {
        const { metadata, spec } = injected(parts);
        const own = manifestOf(parts);
        const { livenessProbe: _live, readinessProbe: _ready, ...container } = own.spec.containers[0] ?? {};
        expect(metadata).to.deep.include({ name: parts.name, generateName: parts.generateName, labels: own.metadata.labels });
        expect(metadata?.annotations).to.include(own.metadata.annotations);
        expect(spec.serviceAccountName).to.equal(parts.serviceAccountName);
        expect(spec.containers.at(-1)).to.deep.include(container);
      }),
    );
  });

  it("has the shape of a user's own template, whatever the texts of the pod are", () => {
    const context = fakeInjection({ template: OWN_TEMPLATE });
    fc.assert(
      fc.property(PARTS, (parts) => {
        const { metadata, spec } = injected(parts, context);
        const own = manifestOf(parts);
        const { container, serviceAccountName, annotation, app } = parts;
        const escaped = (text: string): string => text.replaceAll('$', '$$$$');
        expect(spec.containers).to.deep.equal([
          {
            name: 'own-proxy',
            image: 'own/proxy',
            args: [escaped(parts.name), `--of=${escaped(parts.namespace)}`, escaped(serviceAccountName)],
            command: ['proxy', escaped(container)],
            env: Object.entries(own.metadata.labels).map(([name, value]) => ({ name: `LABEL_${name}`, value: escaped(value) })),
          },
          ...own.spec.containers,
        ]);
        expect(spec.volumes).to.deep.equal([{ name: 'own', hostPath: { path: `/pods/${app}` } }]);
        expect(spec.initContainers).to.equal(undefined);
        expect(metadata?.annotations).to.deep.include({ block: `${annotation}\n`, single: `it's ${annotation}` });
        expect(Object.keys(metadata?.annotations ?? {}).toSorted()).to.deep.equal(
          ['block', 'single', 'sidecar.mesh.io/status', `x${annotation}`].toSorted(),
        );
      }),
    );
  });

  for (const setting of SETTING_NAMES) {
    const annotation = annotationOf(setting, CONTEXT.names);
    if (annotation === undefined) continue;
    it(`is refused where annotation ${annotation} tries to break out`, () => {
      for (const text of HOSTILE) {
        const pod = { metadata: { annotations: { [annotation]: text } }, spec: { containers: [] } };
        expect(() => injectPod(pod, { name: 'foo', chosen: { by: 'caller' } }, CONTEXT), text)
          .to.throw(`annotation ${annotation} is `)
          .with.property('code', 'invalid');
      }
    });
  }

  it('keeps its shape even if a setting were not checked', () => {
    const render = (settings: Settings) =>
      TEMPLATE.render({
        settings,
        mesh: DEFAULT_MESH_CONFIG,
        names: { domain: 'mesh.io' },
        pod: { name: '', namespace: 'foo', labels: {}, annotations: {}, serviceAccountName: '', defaultContainer: '' },
      });
    const allOf = (text: string): Settings => Object.fromEntries(SETTING_NAMES.map((name) => [name, text])) as Settings;
    const shape = shapeOf(render(allOf('text')));
    fc.assert(
      fc.property(
        TEXT.filter((text) => text !== '' && text !== 'true'),
        (text) => {
          expect(shapeOf(render(allOf(text)))).to.deep.equal(shape);
        },
      ),
    );
  });
});

/** The value with these texts in place of others: as whole texts, in texts of JSON, and in paths. */
function replaced(value: unknown, texts: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string') {
    if (value.startsWith('{')) return JSON.stringify(replaced(JSON.parse(value), texts));
    return Object.entries(texts).reduce((text, [from, to]) => text.replace(from, () => to), value);
  }
  if (Array.isArray(value)) return value.map((item) => replaced(item, texts));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [replaced(key, texts), replaced(inner, texts)]));
}

/** The value with every text alike. */
function shapeOf(value: unknown): unknown {
  if (typeof value === 'string') return 'text';
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]));
}
