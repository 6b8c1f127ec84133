import { expect } from 'chai';
import { namesByAccount, podIdentity, selectorOf, webhookServices } from '../../../src/mesh_ca/webhook-services.ts';
import type { KubeObject } from '../../../src/model/object.ts';

const object = (fields: Readonly<Record<string, unknown>>, labels = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'X',
  metadata: { name: 'x', namespace: 'foo', labels },
  ...fields,
});

describe('the services of webhooks', () => {
  it('are those that configurations refer to', () => {
    const service = { namespace: 'foo', name: 'hook', path: '/' };
    const webhooks = [
      { clientConfig: { service } },
      { clientConfig: { url: 'https://hook.test' } },
      {},
      null,
      { clientConfig: [] },
    ];
    expect(webhookServices(object({ webhooks }))).to.deep.equal([{ namespace: 'foo', name: 'hook' }]);
    expect(webhookServices(object({}))).to.deep.equal([]);
    expect(webhookServices(object({ webhooks: [{ clientConfig: { service: { name: 'hook' } } }] }))).to.deep.equal([]);
  });

  const PODS: readonly (readonly [string, Readonly<Record<string, unknown>>, string | undefined])[] = [
    ['an account', { spec: { serviceAccountName: 'web' } }, 'web'],
    ['no account', { spec: {} }, 'default'],
    ['no spec', {}, 'default'],
    ['an end', { spec: { serviceAccountName: 'web' }, status: { phase: 'Succeeded' } }, undefined],
    ['a failure', { spec: { serviceAccountName: 'web' }, status: { phase: 'Failed' } }, undefined],
    ['a start', { spec: { serviceAccountName: 'web' }, status: { phase: 'Pending' } }, 'web'],
  ];
  for (const [what, fields, account] of PODS) {
    it(`know of a pod with ${what} that it is of ${account}`, () => {
      expect(podIdentity(object(fields))?.account).to.equal(account);
    });
  }

  it('name the accounts of the pods that they select, by both names, and nobody else', () => {
    const selectors = new Map([
      ['b', { app: 'b' }],
      ['a', { app: 'a', tier: 'x' }],
      ['all', { tier: 'x' }],
    ]);
    const pods = [
      { account: 'both', labels: { app: 'a', tier: 'x', more: '' } },
      { account: 'both', labels: { app: 'b' } },
      { account: 'half', labels: { app: 'a' } },
    ];
    expect(Object.fromEntries(namesByAccount('foo', selectors, pods))).to.deep.equal({
      both: ['a.foo', 'a.foo.svc', 'all.foo', 'all.foo.svc', 'b.foo', 'b.foo.svc'],
    });
  });

  it('select nothing without a selector, rather than everything', () => {
    expect(selectorOf(object({ spec: { selector: {} } }))).to.equal(undefined);
    expect(selectorOf(object({ spec: {} }))).to.equal(undefined);
    expect(selectorOf(object({ spec: { selector: { app: 'a' } } }))).to.deep.equal({ app: 'a' });
  });
});
