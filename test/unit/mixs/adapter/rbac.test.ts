import { expect } from 'chai';
import { openRbac } from '../../../../src/mixs/adapter/rbac.ts';
import { type RbacParams, rbac } from '../../../../src/rules/adapter/rbac.ts';
import type { TypedValue } from '../../../../src/rules/attribute/value.ts';
import { compileConfiguration } from '../../../../src/rules/config/compile.ts';
import { adapterEnvironment } from '../../../fakes/adapter-environment.ts';
import { roleObject } from '../../../fakes/rule-objects.ts';

const text = (value: string): TypedValue => ({ type: 'STRING', value });
const ROLE = {
  rules: [
    {
      services: ['api'],
      paths: ['/public/*', '*.html'],
      methods: ['GET'],
      constraints: [
        { key: 'labels[version]', values: ['v1'] },
        { key: 'size', values: ['1*'] },
      ],
    },
  ],
};
const BINDING = {
  subjects: [{ user: 'me' }, { group: 'admins' }, { properties: { 'source.namespace': 'bar' } }],
  roleRef: { kind: 'ServiceRole', name: 'readers' },
};
const OBJECTS = [roleObject('ServiceRole', 'readers', ROLE), roleObject('ServiceRoleBinding', 'all', BINDING)];

function handlerOf(params: Partial<RbacParams> = {}, objects = OBJECTS) {
  const { permissions, problems } = compileConfiguration(objects);
  expect(problems).to.deep.equal([]);
  const parsed = rbac.parse({}, []);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const environment = { ...adapterEnvironment(), permissions: () => permissions };
  const handler = openRbac({ ...parsed.value, ...params }, environment);
  const check = (subject: object = {}, action: object = {}) =>
    handler.check?.(
      {
        template: 'authorization',
        values: {
          name: 'a.authorization.ns',
          subject: { user: 'me', properties: {}, ...subject },
          action: {
            namespace: 'foo',
            service: 'api',
            method: 'GET',
            path: '/public/a',
            properties: {
              labels: { type: 'STRING_MAP', value: new Map([['version', 'v1']]) },
              size: { type: 'INT64', value: 12n },
            },
            ...action,
          },
        },
      },
      { signal: new AbortController().signal },
    );
  const code = async (...request: Parameters<typeof check>): Promise<number | undefined> =>
    (await check(...request))?.status.code;
  return { check, code, logged: environment.logger.entries };
}

describe('the rbac adapter', () => {
  it('allows what a bound role allows, to be remembered for a while, and tells by what', async () => {
    const { check, logged } = handlerOf();
    expect(await check()).to.deep.equal({
      status: { code: 0, message: '' },
      validMs: 5_000,
      validUses: Number.POSITIVE_INFINITY,
    });
    expect(logged).to.have.length(1);
    expect(logged[0]).to.deep.include({ level: 'debug', message: 'a role allows a request' });
    expect(logged[0]?.fields).to.include({ role: 'readers', binding: 'all', user: 'me', path: '/public/a' });
  });

  it('refuses everything else', async () => {
    const { check, logged } = handlerOf();
    expect(await check({ user: 'you' })).to.deep.equal({
      status: { code: 7, message: 'RBAC: permission denied' },
      validMs: 5_000,
      validUses: Number.POSITIVE_INFINITY,
    });
    expect(logged[0]).to.deep.include({ level: 'debug', message: 'roles do not allow a request' });
    const { code } = handlerOf();
    for (const action of [
      { namespace: 'bar' },
      { namespace: undefined },
      { service: undefined },
      { method: undefined },
      { path: undefined },
      { properties: {} },
      { properties: { labels: text('v1'), size: text('1') } },
      { properties: { 'labels[version]': { type: 'STRING_MAP', value: new Map([['version', 'v1']]) }, size: text('1') } },
    ])
      expect(await code({}, action), JSON.stringify(Object.keys(action))).to.equal(7);
    expect(await handlerOf({}, []).code()).to.equal(7);
  });

  it('knows groups by a list with commas, and properties of any type', async () => {
    const { code } = handlerOf();
    expect(await code({ user: '', groups: 'users, admins' })).to.equal(0);
    expect(await code({ user: '', groups: 'superadmins' })).to.equal(7);
    expect(await code({ user: '', properties: { 'source.namespace': text('bar') } })).to.equal(0);
    expect(await code({ user: '', properties: { 'source.namespace': text('baz') } })).to.equal(7);
  });

  it('takes an empty text for what the request does not have, so that a * does not fit it', async () => {
    const rules = [{ services: ['*'], constraints: [{ key: 'labels[version]', values: ['*'] }] }];
    const roleRef = { kind: 'ServiceRole', name: 'any' };
    const { code } = handlerOf({}, [
      roleObject('ServiceRole', 'any', { rules }),
      roleObject('ServiceRoleBinding', 'any', { subjects: [{ properties: { from: '*' } }], roleRef }),
    ]);
    const labels = (version: string) => ({ labels: { type: 'STRING_MAP', value: new Map([['version', version]]) } });
    expect(await code({ properties: { from: text('bar') } })).to.equal(0);
    expect(await code({ properties: { from: text('') } })).to.equal(7);
    expect(await code({ properties: { from: text('bar') } }, { properties: labels('') })).to.equal(7);
  });

  it('is not led astray by what stands behind a path', async () => {
    const { code } = handlerOf();
    expect(await code({}, { path: '/secret.html?x' })).to.equal(0);
    for (const path of ['/secret?x=.html', '/secret#.html', '/secret?\n.html'])
      expect(await code({}, { path }), path).to.equal(7);
  });

  it('refuses nothing while it is permissive, and logs what it would have', async () => {
    const { check, logged } = handlerOf({ mode: 'PERMISSIVE' });
    expect((await check({ user: 'you' }))?.status.code).to.equal(0);
    expect(logged[0]).to.deep.include({ level: 'info' });
    expect(logged[0]?.fields).to.include({ user: 'you', service: 'api', namespace: 'foo' });
  });

  it('has no other store of roles than the one that it is in itself', () => {
    for (const spec of [{ config_store_url: 'k8s://' }, { configStoreUrl: '' }, { mode: 'OFF' }, { cacheDuration: '-1s' }])
      expect(rbac.parse(spec, []).ok, JSON.stringify(spec)).to.equal(false);
  });
});
