import { expect } from 'chai';
import type { KubeObject } from '../../../../src/model/object.ts';
import { ADAPTERS } from '../../../../src/rules/adapter/adapters.ts';
import { compileConfiguration } from '../../../../src/rules/config/compile.ts';
import type { Configuration } from '../../../../src/rules/config/configuration.ts';
import { ruleKinds } from '../../../../src/rules/config/kinds.ts';

const object = (kind: string, name: string, spec: unknown, namespace = 'mesh-system'): KubeObject => ({
  apiVersion: 'config.mesh.io/v1alpha2',
  kind,
  metadata: { name, namespace },
  spec,
});

const DENIER = object('denier', 'deny', { status: { code: 7, message: 'no' } });
const NOTHING = object('checknothing', 'nothing', {});
const rule = (spec: unknown, namespace?: string): KubeObject => object('rule', 'r', spec, namespace);
const DENY = rule({
  match: 'source.namespace == "foo"',
  actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }],
});

const problems = ({ problems: all }: Configuration): readonly string[] =>
  all.map(
    ({ object: { kind, metadata }, path, message, inForce }) => `${kind} ${metadata.name}: ${path}: ${message} (${inForce})`,
  );

describe('the configuration of mixs', () => {
  it('joins rules, handlers and instances by their names', () => {
    const configuration = compileConfiguration([DENY, NOTHING, DENIER]);
    expect(problems(configuration)).to.deep.equal([]);
    const compiled = configuration.rules.get('r.rule.mesh-system');
    expect(compiled?.match?.text).to.equal('source.namespace == "foo"');
    expect(
      compiled?.actions.map(({ handler, instances }) => [handler.id, handler.params, instances.map(({ name }) => name)]),
    ).to.deep.equal([
      [
        'deny.denier.mesh-system',
        { code: 7, message: 'no', validDuration: 5000, validUseCount: 1000 },
        ['nothing.checknothing.mesh-system'],
      ],
    ]);
  });

  it('takes names with a namespace, and the general kinds', () => {
    const configuration = compileConfiguration([
      object('handler', 'h.x', { compiledAdapter: 'denier', params: {} }),
      object('instance', 'i', { compiledTemplate: 'checknothing' }, 'foo'),
      rule({ actions: [{ handler: 'h.x.handler.mesh-system', instances: ['i'] }] }, 'foo'),
    ]);
    expect(problems(configuration)).to.deep.equal([]);
    expect(configuration.rules.get('r.rule.foo')?.actions[0]?.handler.id).to.equal('h.x.handler.mesh-system');
  });

  it('tells every mistake, and leaves what has one out', () => {
    const configuration = compileConfiguration([
      DENIER,
      NOTHING,
      object('listentry', 'entry', { value: 'source.namespac' }),
      object('metric', 'size', { value: 'request.size' }),
      object('memquota', 'mem', { quotas: [{ name: 'count', maxAmount: 5 }] }),
      object('handler', 'other', { compiledAdapter: 'nosuch' }),
      rule({
        match: 'source.namespace',
        actions: [
          { handler: 'deny.denier', instances: ['size.metric', 'entry.listentry', 'none.checknothing'] },
          { handler: 'gone.denier', instances: ['nothing.checknothing'] },
        ],
        requestHeaderOperations: [
          { name: 'X Y', values: ['request.size'] },
          { name: 'x-a', operation: 'REMOVE', values: ['"a"'] },
        ],
        responseHeaderOperations: [{ name: 'x-b', operation: 'REMOVE' }],
      }),
      object('rule', 'empty', {}),
    ]);
    expect([...configuration.rules.keys(), ...configuration.instances.keys()]).to.deep.equal([
      'nothing.checknothing.mesh-system',
      'size.metric.mesh-system',
    ]);
    expect(problems(configuration)).to.deep.equal([
      'listentry entry: spec.value: column 1: there is no attribute source.namespac; did you mean "source.namespace"? (absent)',
      'memquota mem: spec.quotas[0].name: no rule sends a quota instance "count" here; rules send none (absent)',
      `handler other: spec.compiledAdapter: must be one of ${[...ADAPTERS.keys()].join(', ')} (absent)`,
      'rule r: spec.requestHeaderOperations[0].name: "x y" is no name of a header (absent)',
      'rule r: spec.requestHeaderOperations[1].values: a header that is removed has no values (absent)',
      'rule r: spec.responseHeaderOperations[0].operation: REMOVE is not for responses: proxies can be told to add and replace their headers only (absent)',
      'rule empty: spec.actions: the rule does nothing: it has no action and no header operation (absent)',
    ]);
  });

  it('tells what a rule refers to in vain', () => {
    const configuration = compileConfiguration([
      DENIER,
      NOTHING,
      object('metric', 'size', { value: 'request.size' }),
      rule({
        match: 'source.namespace',
        actions: [
          { handler: 'deny.denier', instances: ['size.metric', 'none.checknothing'] },
          { handler: 'gone.denier', instances: ['nothing.checknothing'] },
        ],
        requestHeaderOperations: [{ name: 'x-y', values: ['request.size'] }],
      }),
    ]);
    expect(problems(configuration)).to.deep.equal([
      'rule r: spec.match: column 1: the value must be BOOL, not STRING (source.namespace) (absent)',
      'rule r: spec.actions[0].instances[0]: denier takes no metric (absent)',
      'rule r: spec.actions[0].instances[1]: there is no instance none.checknothing.mesh-system in force (absent)',
      'rule r: spec.actions[1].handler: there is no handler gone.denier.mesh-system in force (absent)',
      'rule r: spec.requestHeaderOperations[0].values[0]: column 1: the value must be STRING, not INT64 (request.size) (absent)',
    ]);
  });

  it('keeps what was good in force while it is wrong, and while what it needs is gone', () => {
    const good = compileConfiguration([DENY, NOTHING, DENIER]);
    const broken = rule({
      match: 'source.namespace ==',
      actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }],
    });
    for (const objects of [
      [broken, NOTHING, DENIER],
      [DENY, NOTHING],
      [DENY, NOTHING, object('denier', 'deny', { status: { code: 0 } })],
    ]) {
      const next = compileConfiguration(objects, good);
      expect(next.problems.map(({ inForce }) => inForce)).to.deep.equal(['last good']);
      expect(next.rules.get('r.rule.mesh-system')?.actions[0]?.handler.params).to.include({ message: 'no' });
      expect(next.rules.get('r.rule.mesh-system')?.match?.text).to.equal('source.namespace == "foo"');
    }
    expect(compileConfiguration([NOTHING, DENIER], good).rules.size).to.equal(0);
  });

  it('opens a handler anew only when it has changed', () => {
    const key = (...objects: readonly KubeObject[]): string | undefined =>
      compileConfiguration(objects).handlers.get('deny.denier.mesh-system')?.key;
    const first = key(DENY, NOTHING, DENIER);
    expect(key(NOTHING, DENIER, DENY, object('stdio', 's', {}))).to.equal(first);
    expect(key(DENY, NOTHING, object('denier', 'deny', {}))).not.to.equal(first);
  });

  it('knows the attributes of manifests', () => {
    const manifest = (attributes: unknown): KubeObject => object('attributemanifest', 'm', { attributes });
    const fine = compileConfiguration([
      manifest({ 'shop.cart': { valueType: 'STRING' } }),
      object('listentry', 'e', { value: 'shop.cart' }),
    ]);
    expect(problems(fine)).to.deep.equal([]);
    expect(
      problems(
        compileConfiguration([
          manifest({ 'source.ip': { valueType: 'STRING' }, 'a-b': { valueType: 'STRING' }, c: { valueType: 'TEXT' }, d: {} }),
        ]),
      ),
    ).to.deep.equal([
      'attributemanifest m: spec.attributes.source.ip.valueType: source.ip is IP_ADDRESS already (absent)',
      'attributemanifest m: spec.attributes.a-b.valueType: "a-b" is no name of an attribute: words joined by dots (absent)',
      'attributemanifest m: spec.attributes.c.valueType: "TEXT" is none of STRING, INT64, DOUBLE, BOOL, TIMESTAMP, IP_ADDRESS, EMAIL_ADDRESS, URI, DNS_NAME, DURATION, STRING_MAP (absent)',
      'attributemanifest m: spec.attributes.d.valueType: is required (absent)',
    ]);
  });

  it('has the kinds that users know', () => {
    const plurals = Object.fromEntries(ruleKinds('mesh.io').map(({ resource: { kind, plural } }) => [kind, plural]));
    expect(plurals).to.include({
      rule: 'rules',
      attributemanifest: 'attributemanifests',
      apikey: 'apikeies',
      listentry: 'listentries',
      metric: 'metrics',
      prometheus: 'prometheuses',
      QuotaSpecBinding: 'quotaspecbindings',
      ServiceRoleBinding: 'servicerolebindings',
      rbac: 'rbacs',
    });
    const others = ruleKinds('a.b').filter(({ resource: { apiVersion } }) => apiVersion !== 'config.a.b/v1alpha2');
    expect(others.map(({ resource: { apiVersion, kind } }) => `${apiVersion} ${kind}`)).to.deep.equal([
      'rbac.a.b/v1alpha1 ServiceRole',
      'rbac.a.b/v1alpha1 ServiceRoleBinding',
    ]);
  });
});
