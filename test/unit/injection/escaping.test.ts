/** Whoever may create a pod must not be able to change more of its sidecar than the annotations allow. */
import { expect } from 'chai';
import fc from 'fast-check';
import { injectPod } from '../../../src/injection/inject.ts';
import type { PodManifest } from '../../../src/injection/pod.ts';
import { annotationOf, SETTING_NAMES, type Settings } from '../../../src/injection/settings.ts';
import { compileTemplate } from '../../../src/injection/template.ts';
import { DEFAULT_MESH_CONFIG } from '../../../src/model/mesh-config.ts';
import { fakeInjection, injectionConfig, requireInjected } from '../../fakes/injection.ts';

const CONTEXT = fakeInjection();
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
};

function injected(parts: Parts): PodManifest {
  const { app, label, annotation, name, generateName, namespace, serviceAccountName, image, container } = parts;
  const pod = {
    metadata: {
      name,
      generateName,
      labels: { ...Object.fromEntries([[label, label]]), app },
      annotations: Object.fromEntries([[`x${annotation}`, annotation]]),
    },
    spec: { serviceAccountName, containers: [{ name: container, image, livenessProbe: { tcpSocket: { port: 9000 } } }] },
  };
  return requireInjected(injectPod(pod, { name: namespace, chosen: { by: 'caller' } }, CONTEXT)).pod;
}

/** Everything that injection added: all but the pod's own container, and of the metadata what is not the pod's. */
function addedTo(pod: PodManifest, { annotation }: Parts): unknown {
  const { [`x${annotation}`]: _own, ...annotations } = pod.metadata?.annotations ?? {};
  const { containers, serviceAccountName: _account, ...spec } = pod.spec;
  return { annotations, spec, containers: containers.slice(0, -1) };
}

describe('what is added to a pod', () => {
  it('differs by two values only, whatever the texts of the pod are', () => {
    const plain = addedTo(injected(PLAIN), PLAIN);
    const others = {
      app: TEXT,
      label: TEXT,
      annotation: TEXT,
      name: TEXT,
      generateName: TEXT,
      serviceAccountName: TEXT,
      image: TEXT,
    };
    const container = TEXT.filter((text) => text !== 'mesh-proxy' && text !== 'mesh-init');
    const namespace = TEXT.filter((text) => !text.startsWith('kube-'));
    fc.assert(
      fc.property(fc.record({ ...others, container, namespace }), (parts) => {
        const { app } = parts;
        expect(addedTo(injected(parts), parts)).to.deep.equal(
          replaced(plain, { 'the-app': app === '' ? 'mesh-proxy' : app, 'the-container': parts.container }),
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
