import { expect } from 'chai';
import type { InjectionConfig } from '../../../src/injection/config.ts';
import { type NamespaceChoice, shouldInject } from '../../../src/injection/decision.ts';
import { DEFAULT_DOMAIN, namesFor } from '../../../src/lib/names.ts';
import { injectionConfig } from '../../fakes/injection.ts';

const NAMES = namesFor(DEFAULT_DOMAIN);
const ENABLED: NamespaceChoice = { by: 'labels', labels: { 'mesh-injection': 'enabled' } };
const JOBS = { requirements: [{ operator: 'In', key: 'app', values: ['job'] }] } as const;

interface Row {
  readonly title: string;
  readonly annotation?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly hostNetwork?: boolean;
  readonly namespace?: string;
  readonly chosen?: NamespaceChoice;
  readonly config?: Partial<InjectionConfig>;
  readonly inject: boolean;
  readonly reason: string;
}

const ROWS: readonly Row[] = [
  { title: 'policy enabled', inject: true, reason: 'policy is enabled' },
  { title: 'policy disabled', config: { policy: 'disabled' }, inject: false, reason: 'policy is disabled' },
  {
    title: 'label missing',
    chosen: { by: 'labels', labels: {} },
    inject: false,
    reason: 'lacks the label mesh-injection=enabled',
  },
  {
    title: 'label of another value',
    chosen: { by: 'labels', labels: { 'mesh-injection': 'true' } },
    inject: false,
    reason: 'lacks',
  },
  {
    title: 'a yes in a namespace without the label',
    chosen: { by: 'labels', labels: {} },
    annotation: 'true',
    inject: false,
    reason: 'lacks',
  },
  { title: 'chosen by the caller', chosen: { by: 'caller' }, inject: true, reason: 'policy' },
  { title: 'host network', hostNetwork: true, annotation: 'true', inject: false, reason: 'network of its host' },
  { title: 'kube-system', namespace: 'kube-system', annotation: 'true', inject: false, reason: 'belongs to the orchestrator' },
  {
    title: 'kube-public',
    namespace: 'kube-public',
    chosen: { by: 'force' },
    inject: false,
    reason: 'belongs to the orchestrator',
  },
  ...['y', 'yes', 'true', 'on', 'TRUE', 'Yes'].map((annotation) => ({
    title: `annotation ${annotation}`,
    annotation,
    config: { policy: 'disabled' } as const,
    inject: true,
    reason: `is "${annotation}"`,
  })),
  ...['n', 'no', 'false', 'off', '', '1', 'enabled', ' true'].map((annotation) => ({
    title: `annotation "${annotation}"`,
    annotation,
    inject: false,
    reason: `is "${annotation}"`,
  })),
  {
    title: 'never-selected',
    labels: { app: 'job' },
    config: { neverInjectSelector: [JOBS] },
    inject: false,
    reason: 'neverInjectSelector[0]',
  },
  {
    title: 'a yes against the never-selector',
    annotation: 'true',
    labels: { app: 'job' },
    config: { neverInjectSelector: [JOBS] },
    inject: true,
    reason: 'annotation',
  },
  {
    title: 'always-selected under a disabled policy',
    labels: { app: 'job' },
    config: { policy: 'disabled', alwaysInjectSelector: [JOBS] },
    inject: true,
    reason: 'alwaysInjectSelector[0]',
  },
  {
    title: 'selected by both',
    labels: { app: 'job' },
    config: { neverInjectSelector: [JOBS], alwaysInjectSelector: [JOBS] },
    inject: false,
    reason: 'neverInjectSelector[0]',
  },
  { title: 'forced against a no', annotation: 'false', chosen: { by: 'force' }, inject: true, reason: 'forced' },
  {
    title: 'forced with the host network',
    hostNetwork: true,
    chosen: { by: 'force' },
    inject: false,
    reason: 'network of its host',
  },
];

describe('injection decision', () => {
  for (const row of ROWS) {
    it(`${row.title}: ${row.inject ? 'injects' : 'does not inject'}`, () => {
      const annotations: Record<string, string> =
        row.annotation === undefined ? {} : { [NAMES.injectAnnotation]: row.annotation };
      const pod = {
        metadata: { annotations, labels: row.labels ?? {} },
        spec: { containers: [], hostNetwork: row.hostNetwork ?? false },
      };
      const namespace = { name: row.namespace ?? 'foo', chosen: row.chosen ?? ENABLED };
      const decision = shouldInject(pod, namespace, injectionConfig(row.config), NAMES);
      expect(decision.inject).to.equal(row.inject);
      expect(decision.reason).to.contain(row.reason);
    });
  }
});
