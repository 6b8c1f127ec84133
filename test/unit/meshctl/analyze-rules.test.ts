/** What `meshctl analyze` says of mixs' configuration: each row changes one thing of what is whole. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import analyze from '../../../src/commands/meshctl/analyze.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { namesFor } from '../../../src/lib/names.ts';
import { idleRules } from '../../../src/meshctl/analyze/analysers/idle-rules.ts';
import { ruleDestinations } from '../../../src/meshctl/analyze/analysers/rule-destinations.ts';
import { ruleProblems } from '../../../src/meshctl/analyze/analysers/rule-problems.ts';
import { CATALOGUE } from '../../../src/meshctl/analyze/catalogue.ts';
import { describeSubject } from '../../../src/meshctl/analyze/finding.ts';
import { type MeshObjects, mergeObjects, NO_OBJECTS, type ObjectSet } from '../../../src/meshctl/analyze/mesh-objects.ts';
import { meshState } from '../../../src/meshctl/analyze/mesh-state.ts';
import { readRules } from '../../../src/meshctl/analyze/read-rules.ts';
import { mergeRules, NO_RULES, onlyFileRules, type RuleSet } from '../../../src/meshctl/analyze/rule-set.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { allKinds, ruleKinds } from '../../../src/rules/config/kinds.ts';
import { MemoryStore } from '../../../src/sources/store/memory.ts';
import { roleObject, ruleObject } from '../../fakes/rule-objects.ts';
import { commandRunner } from '../../harness/command-runner.ts';

const names = namesFor('mesh.io');

const rule = (name: string, handler: string, instance: string, more: object = {}, namespace = 'mesh-system'): KubeObject =>
  ruleObject('rule', name, { actions: [{ handler, instances: [instance] }], ...more }, namespace);
const deny = (namespace = 'mesh-system'): readonly KubeObject[] => [
  rule('no', 'deny.denier', 'nothing.checknothing', {}, namespace),
  ruleObject('denier', 'deny', { status: { code: 7 } }, namespace),
  ruleObject('checknothing', 'nothing', {}, namespace),
];
const binding = (services: readonly object[]): KubeObject =>
  ruleObject('QuotaSpecBinding', 'web', { services, quotaSpecs: [{ name: 'cost' }] });
const spec = (quota: string): KubeObject => ruleObject('QuotaSpec', 'cost', { rules: [{ quotas: [{ quota }] }] });
const bound = (role: string): KubeObject =>
  roleObject('ServiceRoleBinding', 'readers', { subjects: [{ user: '*' }], roleRef: { kind: 'ServiceRole', name: role } });

const WHOLE: readonly KubeObject[] = [
  ...deny(),
  ...deny('foo'),
  ruleObject('handler', 'count', { compiledAdapter: 'memquota', params: { quotas: [{ name: 'requests', maxAmount: 5 }] } }),
  ruleObject('instance', 'requests', { compiledTemplate: 'quota', params: {} }),
  rule('count', 'count', 'requests'),
  spec('requests'),
  binding([{ name: 'web', namespace: 'foo' }]),
  roleObject('ServiceRole', 'reader', { rules: [{ services: ['*'] }] }),
  bound('reader'),
];

function deployment(args: readonly string[]): KubeObject {
  const containers = [{ name: 'mixs', args }];
  const metadata = { name: 'mixs', namespace: 'elsewhere' };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { template: { spec: { containers } } } };
}

const core = (kind: string, name: string, namespace: string): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace },
});

/** A mesh with service web in foo. */
const MESH: MeshObjects = { ...NO_OBJECTS, service: [core('Service', 'web', 'foo')] };

function found(rules: RuleSet, objects = MESH, unread: ObjectSet['unread'] = new Set(), rootNamespace = 'mesh-system') {
  const set: ObjectSet = { objects, rules, unread, unserved: [], isCluster: true };
  const now = new Date(0);
  const state = meshState(set, { names, rootNamespace, domain: 'cluster.local', now, hash: (text) => text, templates: [] });
  const findings = [ruleProblems, idleRules, ruleDestinations].flatMap((analyser) => analyser(state));
  return findings.map(({ code, subject, message }) => `${code} ${describeSubject(subject)}: ${message}`);
}

const whole = (...changed: readonly KubeObject[]): RuleSet => mergeRules({ ...NO_RULES, objects: WHOLE }, changed);
const without = (kind: string, name: string): RuleSet => ({
  ...NO_RULES,
  objects: WHOLE.filter((object) => object.kind !== kind || object.metadata.name !== name),
});

const MISTAKES: readonly (readonly [title: string, rules: RuleSet, found: readonly string[]])[] = [
  [
    'a field that is wrong',
    whole(ruleObject('denier', 'deny', { status: { code: 99 } }, 'foo')),
    [
      'MESH801 denier foo/deny: spec.status.code: expected a whole number from 1 to 16, got 99',
      'MESH802 rule foo/no: spec.actions[0].handler: there is no handler deny.denier.foo in force',
    ],
  ],
  [
    'an expression that is wrong',
    whole(rule('no', 'deny.denier', 'nothing.checknothing', { match: 'source.namespac == "a"' })),
    [
      'MESH801 rule mesh-system/no: spec.match: column 1: there is no attribute source.namespac; did you mean "source.namespace"?',
    ],
  ],
  [
    'a name of what is not there',
    without('QuotaSpec', 'cost'),
    [
      'MESH802 QuotaSpecBinding mesh-system/web: spec.quotaSpecs[0].name: there is no cost.QuotaSpec.mesh-system in force',
      'MESH805 instance mesh-system/requests: no QuotaSpec charges it: calls that sidecars let mixs check take nothing of it',
    ],
  ],
  [
    'a handler and an instance that no rule uses',
    whole(ruleObject('stdio', 'out', {}), ruleObject('reportnothing', 'idle')),
    [
      'MESH803 stdio mesh-system/out: no rule sends anything to it',
      'MESH803 reportnothing mesh-system/idle: no rule sends it to a handler',
    ],
  ],
  [
    'a role that nobody has',
    without('ServiceRoleBinding', 'readers'),
    ['MESH804 ServiceRole foo/reader: no ServiceRoleBinding names it, so that it allows nobody anything'],
  ],
  [
    'a charge for nobody',
    without('QuotaSpecBinding', 'web'),
    ['MESH804 QuotaSpec mesh-system/cost: no QuotaSpecBinding names it, so that it charges nobody anything'],
  ],
  [
    'a quota that nothing charges',
    whole(
      ruleObject('quota', 'free'),
      ruleObject('memquota', 'free', { quotas: [{ name: 'free', maxAmount: 1 }] }),
      rule('free', 'free.memquota', 'free.quota'),
    ),
    ['MESH805 quota mesh-system/free: no QuotaSpec charges it: calls that sidecars let mixs check take nothing of it'],
  ],
  [
    'a charge for a service that is not there',
    whole(binding([{ name: '*' }, { name: 'wbe', namespace: 'foo' }])),
    ['MESH806 QuotaSpecBinding mesh-system/web: spec.services[1]: there is no service wbe.foo'],
  ],
  [
    'rules for a namespace that has nothing',
    whole(...deny('bar')),
    ['MESH807 rule bar/no: holds for requests to services of namespace bar, which has neither services nor pods'],
  ],
];

describe('analysis of the configuration of mixs', () => {
  it('finds nothing wrong with what is whole, or with none', () => {
    expect(found(whole())).to.deep.equal([]);
    expect(found(NO_RULES)).to.deep.equal([]);
  });

  for (const [title, rules, expected] of MISTAKES)
    it(`finds ${title}`, () => {
      expect(found(rules)).to.deep.equal(expected);
    });

  it('calls wrong what can never be right, and warns of what may come', () => {
    expect([CATALOGUE.MESH801.severity, CATALOGUE.MESH802.severity]).to.deep.equal(['error', 'warning']);
  });

  it('takes no part for idle that a rule which is not in force, or cannot be read, may name', () => {
    const dangling = rule('later', 'out.stdio', 'missing.logentry');
    expect(found(whole(ruleObject('stdio', 'out', {}), dangling)).map((text) => text.slice(0, 7))).to.deep.equal(['MESH802']);
    const broken = ruleObject('rule', 'later', { actions: 'out.stdio' });
    expect(found(whole(ruleObject('stdio', 'out', {}), broken)).every((text) => text.startsWith('MESH801'))).to.equal(true);
  });

  it('takes a charge that is wrong for one that is meant', () => {
    const wrong = ruleObject('QuotaSpec', 'cost', { rules: [{ quotas: [{ quota: 'requests', charge: -1 }] }] });
    expect(found(whole(wrong)).map((text) => text.slice(0, 25))).to.deep.equal([
      'MESH801 QuotaSpec mesh-sy',
      'MESH802 QuotaSpecBinding ',
    ]);
  });

  it('knows the namespaces whose rules hold everywhere, and those that have pods alone', () => {
    const rules = whole(...deny('bar'));
    const having = (more: Partial<MeshObjects>): readonly string[] => found(rules, { ...MESH, ...more });
    expect(having({ deployment: [deployment(['mixs', 'server', '--configDefaultNamespace=bar'])] })).to.deep.equal([]);
    expect(having({ deployment: [deployment(['mixs', 'server', '--configDefaultNamespace', 'bar'])] })).to.deep.equal([]);
    expect(having({ deployment: [deployment(['mixs', 'server', '--other=bar'])] })).to.have.lengthOf(1);
    expect(having({ pod: [core('Pod', 'a', 'bar')] })).to.deep.equal([]);
    expect(found(rules, MESH, new Set(), 'bar')).to.deep.equal([]);
  });

  it('misses no services, pods or namespaces where these may not be read', () => {
    const rules = whole(...deny('bar'), binding([{ name: 'wbe', namespace: 'foo' }]));
    const codes = (...unread: readonly ('service' | 'pod' | 'deployment')[]): readonly string[] =>
      found(rules, MESH, new Set(unread)).map((text) => text.slice(0, 7));
    expect(codes()).to.deep.equal(['MESH806', 'MESH807']);
    expect(codes('service')).to.deep.equal([]);
    expect(codes('pod')).to.deep.equal(['MESH806']);
    expect(codes('deployment')).to.deep.equal(['MESH806']);
  });

  describe('of files alone', () => {
    const codes = (...objects: readonly KubeObject[]): readonly string[] =>
      found(onlyFileRules(objects)).map((text) => text.split(': ', 2).join(': '));

    it('misses nothing that they do not speak of, and takes nothing for idle', () => {
      const [one, handler, instance] = deny('foo');
      for (const part of [one, handler, instance]) expect(codes(part as KubeObject)).to.deep.equal([]);
      for (const part of WHOLE) expect(codes(part)).to.deep.equal([]);
    });

    it('misses what they should have beside others of its kind', () => {
      expect(codes(...deny(), rule('other', 'den.denier', 'nothing.checknothing'))).to.deep.equal([
        'MESH802 rule mesh-system/other: spec.actions[0].handler',
      ]);
      expect(codes(roleObject('ServiceRole', 'writer', { rules: [{ services: ['*'] }] }), bound('reader'))).to.deep.equal([
        'MESH802 ServiceRoleBinding foo/readers: spec.roleRef.name',
      ]);
    });

    it('leaves it open which attributes there are, and what is good by them, until a manifest is among them', () => {
      const own = rule('own', 'deny.denier', 'nothing.checknothing', { match: 'our.tenant == "a"' });
      const instance = ruleObject('listentry', 'tenant', { value: 'our.tenant' });
      const list = ruleObject('listchecker', 'tenants', { overrides: ['a'] });
      const objects = [...deny(), own, instance, list, rule('list', 'tenants.listchecker', 'tenant.listentry')];
      expect(codes(...objects)).to.deep.equal([]);
      const other = ruleObject('attributemanifest', 'm', { attributes: { 'our.other': { valueType: 'STRING' } } });
      const role = roleObject('ServiceRole', 'writer', { rules: [{ services: ['*'] }] });
      expect(codes(...objects, role, bound('reader'))).to.deep.equal([
        'MESH802 ServiceRoleBinding foo/readers: spec.roleRef.name',
      ]);
      expect(codes(...objects, other)).to.deep.equal([
        'MESH801 listentry mesh-system/tenant: spec.value',
        'MESH801 rule mesh-system/own: spec.match',
        'MESH802 rule mesh-system/list: spec.actions[0].instances[0]',
      ]);
    });

    it('tells what is wrong in itself', () => {
      expect(codes(ruleObject('denier', 'deny', { status: { code: 99 } }))).to.deep.equal([
        'MESH801 denier mesh-system/deny: spec.status.code',
      ]);
    });
  });

  describe('of a store', () => {
    async function storeOf(objects: readonly KubeObject[]): Promise<MemoryStore> {
      const store = new MemoryStore({ kinds: allKinds(names), now: () => new Date(0), newUid: () => 'u' });
      for (const object of objects) await store.create(object);
      return store;
    }

    /** A store whose lists of some kinds fail, of the whole cluster or everywhere. */
    async function readWith(code: 'not_found' | 'permission_denied', kinds: readonly string[], own: 'foo' | 'none' | '' = '') {
      const store = await storeOf(WHOLE);
      const list = store.list.bind(store);
      store.list = async (kind, namespace) => {
        if (kinds.includes(kind.kind) && namespace !== own) throw new MeshError(code, `cannot list ${kind.plural}: no`);
        return list(kind, namespace);
      };
      return readRules(store, own === '' ? '' : 'foo', names);
    }

    it('takes all kinds', async () => {
      const { rules, note } = await readRules(await storeOf(WHOLE), '', names);
      expect([rules.objects.length, rules.isWhole, note]).to.deep.equal([WHOLE.length, true, undefined]);
      expect(found(rules)).to.deep.equal([]);
    });

    it('takes kinds that there are not for kinds without objects', async () => {
      const every = ruleKinds(names.domain).map(({ resource }) => resource.kind);
      expect(await readWith('not_found', every)).to.deep.equal({ rules: { ...NO_RULES, objects: [] }, note: undefined });
    });

    it('says which kinds may not be read, and leaves out what needs them', async () => {
      const { rules, note } = await readWith('permission_denied', ['denier']);
      expect([note, rules.isWhole]).to.deep.equal(['cannot list deniers: no', false]);
      expect(found(rules)).to.deep.equal([]);
      const { note: both } = await readWith('permission_denied', ['denier', 'checknothing', 'rule']);
      expect(both).to.equal('cannot list rules: no; the same of 2 more kinds of mixs');
    });

    it('takes of these what may be read of the namespace', async () => {
      const { rules } = await readWith('permission_denied', ['denier'], 'foo');
      const deniers = rules.objects.filter(({ kind }) => kind === 'denier');
      expect(deniers.map(({ metadata }) => metadata.namespace)).to.deep.equal(['foo']);
      expect((await readWith('permission_denied', ['denier'], 'none')).rules.objects).to.have.lengthOf(WHOLE.length - 2);
    });
  });

  it('sees files in the place of what is stored', () => {
    const live: ObjectSet = { objects: MESH, rules: whole(), unread: new Set(), unserved: [], isCluster: true };
    const { rules } = mergeObjects(live, NO_OBJECTS, [ruleObject('denier', 'deny', { status: { code: 99 } })]);
    expect(rules.objects).to.have.lengthOf(WHOLE.length);
    expect(found(rules).map((text) => text.slice(0, 7))).to.deep.equal(['MESH801', 'MESH802']);
  });
});

describe('meshctl analyze of the configuration of mixs, typed', () => {
  let root: string;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'meshctl-analyze-rules-'));
    await mkdir(join(root, 'mesh'));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const run = (...args: readonly string[]) => commandRunner({ analyze }, root)('analyze', ...args);

  async function write(file: string, ...objects: readonly KubeObject[]): Promise<void> {
    await writeFile(join(root, file), objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  }

  const WRONG = `# the first line
apiVersion: config.mesh.io/v1alpha2
kind: rule
metadata: {name: r, namespace: foo}
spec:
  match: source.ip ==
  actions:
  - handler: deny.denier
    instances: [nothing.checknothing]
---
apiVersion: config.mesh.io/v1alpha2
kind: rule
metadata: {name: s, namespace: foo}
spec:
  actions:
  - handler: den.denier
    instances: [nothing.checknothing]
`;

  it('names file and line of what would be wrong, with what the mesh has', async () => {
    await write('mesh/rules.yaml', core('Service', 'web', 'foo'), ...deny('foo'));
    await writeFile(join(root, 'wrong.yaml'), WRONG);
    const { code, out, err } = await run('-f', 'wrong.yaml', '--orchconfig', 'mesh', '-o', 'json');
    expect([code, err]).to.deep.equal([1, '']);
    const { findings } = JSON.parse(out) as { findings: readonly Record<string, unknown>[] };
    expect(findings.map(({ code: found, file, line, path }) => [found, file, line, path])).to.deep.equal([
      ['MESH801', 'wrong.yaml', 6, 'spec.match'],
      ['MESH802', 'wrong.yaml', 16, 'spec.actions[0].handler'],
    ]);
  });

  it('tells of files alone what is wrong whatever the mesh has', async () => {
    await writeFile(join(root, 'wrong.yaml'), WRONG);
    const { code, out } = await run('-f', 'wrong.yaml', '-o', 'json');
    const { findings } = JSON.parse(out) as { findings: readonly Record<string, unknown>[] };
    expect([code, ...findings.map(({ code: found, line }) => `${found} ${line}`)]).to.deep.equal([1, 'MESH801 6']);
  });

  it('tells what a file brings about elsewhere', async () => {
    await write('mesh/rules.yaml', ...deny());
    await write('change.yaml', ruleObject('denier', 'deny', { status: { code: 99 } }));
    const { out } = await run('-f', 'change.yaml', '--orchconfig', 'mesh');
    expect(out).to.include('MESH801   denier mesh-system/deny (change.yaml:1)');
    expect(out).to.match(
      /MESH802 {3}rule mesh-system\/no {2,}spec\.actions\[0\]\.handler: there is no handler deny\.denier\.mesh-system in force/,
    );
    expect((await run('--orchconfig', 'mesh')).out).to.equal('No problems found.\n');
  });

  it('finds objects that are given twice', async () => {
    await write('twice.yaml', ...deny('foo'), ...deny('foo').slice(1));
    const { out } = await run('-f', 'twice.yaml', '-o', 'json');
    const { findings } = JSON.parse(out) as { findings: readonly Record<string, unknown>[] };
    expect(findings.map(({ code, object }) => [code, (object as KubeObject).kind])).to.deep.equal([
      ['MESH103', 'checknothing'],
      ['MESH103', 'denier'],
    ]);
  });

  it('finds nothing wrong with the examples', async () => {
    const examples = join(process.cwd(), 'examples');
    const files = [join(examples, 'mixs'), join(examples, 'grpc-adapter/rules')].flatMap((path) => ['-f', path]);
    const { code, out } = await run(...files);
    expect([code, out]).to.deep.equal([0, 'No problems found.\n']);
  });
});
