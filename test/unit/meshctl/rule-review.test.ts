import { expect } from 'chai';
import { formatProblem } from '../../../src/lib/errors.ts';
import { namesFor } from '../../../src/lib/names.ts';
import { reviewRuleManifests } from '../../../src/meshctl/rule-review.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { readManifests } from '../../../src/model/parse/manifests.ts';
import { allKinds, ruleKinds } from '../../../src/rules/config/kinds.ts';
import { MemoryStore } from '../../../src/sources/store/memory.ts';
import { roleObject, ruleObject } from '../../fakes/rule-objects.ts';

const NAMES = namesFor('mesh.io');
const KINDS = ruleKinds(NAMES.domain);
const RULE = ruleObject('rule', 'r', { actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }] });
const DENIER = ruleObject('denier', 'deny', { status: { code: 7 } });
const NOTHING = ruleObject('checknothing', 'nothing');

async function review(stored: readonly KubeObject[], written: readonly KubeObject[]) {
  const store = new MemoryStore({ kinds: allKinds(NAMES), now: () => new Date(0), newUid: () => 'u' });
  for (const object of stored) await store.create(object);
  const manifests = written.map((object, index) => {
    const kind = KINDS.find(({ resource }) => resource.kind === object.kind)?.resource;
    if (kind === undefined) throw new Error(object.kind);
    return { kind, object, file: 'rules.yaml', lineOf: () => index + 1 };
  });
  const { refused, warnings } = await reviewRuleManifests(manifests, store, NAMES);
  return { refused: refused.map(formatProblem), warnings };
}

describe('review of what is written for mixs', () => {
  it('finds nothing wrong with what is whole', async () => {
    expect(await review([], [RULE, DENIER, NOTHING])).to.deep.equal({ refused: [], warnings: [] });
    expect(await review([DENIER, NOTHING], [RULE])).to.deep.equal({ refused: [], warnings: [] });
  });

  it('warns of what is named and not there yet, so that nobody has to keep an order', async () => {
    expect(await review([NOTHING], [RULE])).to.deep.equal({
      refused: [],
      warnings: [
        'rules.yaml:1: spec.actions[0].handler: rule mesh-system/r: there is no handler deny.denier.mesh-system in force; it is not in force until there is',
      ],
    });
  });

  it('warns of handlers and charges that come before their rules, too', async () => {
    const quota = { name: 'requests', maxAmount: 5 };
    const { refused, warnings } = await review(
      [],
      [
        ruleObject('memquota', 'm', { quotas: [quota] }),
        ruleObject('prometheus', 'p', { metrics: [{ name: 'n', instanceName: 'count', kind: 'COUNTER' }] }),
        ruleObject('statsd', 's', { metrics: { count: { type: 'COUNTER' } } }),
        ruleObject('QuotaSpec', 'cost', { rules: [{ quotas: [{ quota: 'requests' }] }] }),
        ruleObject('QuotaSpecBinding', 'b', { services: [{ name: 'web' }], quotaSpecs: [{ name: 'cost' }] }),
      ],
    );
    expect(refused).to.deep.equal([]);
    expect(warnings.map((text) => text.split(': ', 2)[1])).to.deep.equal([
      'spec.quotas[0].name',
      'spec.metrics[0].instanceName',
      'spec.metrics.count',
      'spec.rules[0].quotas[0].quota',
      'spec.quotaSpecs[0].name',
    ]);
  });

  it('refuses what can never be right, with its place', async () => {
    const { refused } = await review([NOTHING], [ruleObject('denier', 'deny', { status: { code: 99 } }), RULE]);
    expect(refused).to.have.length(1);
    expect(refused[0]).to.match(/^rules\.yaml:1: spec\.status\.code: denier mesh-system\/deny: /);
    const { refused: wrong } = await review(
      [DENIER, NOTHING],
      [ruleObject('rule', 'r', { ...(RULE['spec'] as object), match: 'source.ip ==' })],
    );
    expect(wrong[0]).to.include('rules.yaml:1: spec.match: rule mesh-system/r: ');
  });

  it('names the line of the field, in documents and in lists of objects', async () => {
    const rule = (name: string): readonly string[] => [
      'apiVersion: config.mesh.io/v1alpha2',
      'kind: rule',
      `metadata: {name: ${name}, namespace: foo}`,
      'spec:',
      '  match: source.ip ==',
      "  actions: [{handler: deny.denier, instances: ['nothing.checknothing']}]",
    ];
    const list = ['apiVersion: v1', 'kind: List', 'items:', '-', ...rule('b').map((line) => `  ${line}`)];
    const { manifests } = readManifests(['# rules', ...rule('a'), '---', ...list].join('\n'), {
      kinds: allKinds(NAMES),
      file: 'rules.yaml',
      namespace: '',
      validate: () => [],
    });
    const store = new MemoryStore({ kinds: allKinds(NAMES), now: () => new Date(0), newUid: () => 'u' });
    const { refused } = await reviewRuleManifests(manifests, store, NAMES);
    expect(refused.map(({ line, path }) => [line, path])).to.deep.include.members([
      [6, 'spec.match'],
      [17, 'spec.match'],
    ]);
  });

  it('does the same for roles', async () => {
    const role = roleObject('ServiceRole', 'reader', { rules: [{ services: ['*'] }] });
    const bound = (kind: string) =>
      roleObject('ServiceRoleBinding', 'b', { subjects: [{ user: '*' }], roleRef: { kind, name: 'reader' } });
    expect(await review([role], [bound('ServiceRole')])).to.deep.equal({ refused: [], warnings: [] });
    expect((await review([], [bound('ServiceRole')])).warnings).to.deep.equal([
      'rules.yaml:1: spec.roleRef.name: ServiceRoleBinding foo/b: there is no reader.ServiceRole.foo in force; it is not in force until there is',
    ]);
    expect((await review([role], [bound('ClusterRole')])).refused).to.deep.equal([
      'rules.yaml:1: spec.roleRef.kind: ServiceRoleBinding foo/b: "ClusterRole" is not ServiceRole',
    ]);
  });

  it('does not hold the mistakes of others against anybody', async () => {
    const broken = ruleObject('rule', 'other', { match: '1 +', actions: [] });
    expect((await review([broken, DENIER, NOTHING], [RULE])).refused).to.deep.equal([]);
  });
});
