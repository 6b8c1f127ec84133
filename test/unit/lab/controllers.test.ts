import { expect } from 'chai';
import { planDeployment, TEMPLATE_HASH_LABEL } from '../../../src/lab/controllers/deployment-plan.ts';
import { slicesOf } from '../../../src/lab/controllers/endpoint-slices.ts';
import { podName, templateHash } from '../../../src/lab/controllers/pod-name.ts';
import { podView } from '../../../src/lab/controllers/pod-view.ts';
import { serviceView } from '../../../src/lab/controllers/service-view.ts';
import { renewAfter, tokenClaims } from '../../../src/lab/kubelet/token.ts';
import { labDirectory } from '../../../src/lab/paths.ts';
import { parseTarget } from '../../../src/lab/pod-target.ts';
import { seconds } from '../../../src/lib/duration.ts';

const pod = (name: string, hash: string, ready: boolean, port = 8080) =>
  podView({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'foo', uid: `uid-${name}`, labels: { app: 'web', [TEMPLATE_HASH_LABEL]: hash } },
    spec: { containers: [{ name: 'c', ports: [{ name: 'http', containerPort: port }] }] },
    status: {
      phase: 'Running',
      podIP: `10.244.0.${name.length}`,
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  });

describe('lab deployments', () => {
  const names = (plan: ReturnType<typeof planDeployment>) => plan.remove.map(({ name }) => name);

  it('makes what is missing and removes what is too much, unready pods first', () => {
    expect(planDeployment(3, 'h', [pod('a', 'h', true)])).to.deep.equal({ create: 2, remove: [] });
    expect(names(planDeployment(1, 'h', [pod('a', 'h', false), pod('b', 'h', true)]))).to.deep.equal(['a']);
  });

  it('keeps old pods until new ones are ready in their place', () => {
    const old = [pod('o1', 'old', true), pod('o2', 'old', true)];
    expect(planDeployment(2, 'new', old)).to.deep.equal({ create: 2, remove: [] });
    expect(names(planDeployment(2, 'new', [...old, pod('n1', 'new', true), pod('n2', 'new', false)]))).to.deep.equal(['o2']);
    expect(names(planDeployment(2, 'new', [...old, pod('n1', 'new', true), pod('n2', 'new', true)]))).to.deep.equal(['o1', 'o2']);
  });

  it('names pods as DNS labels, with a hash that ignores the order of fields', () => {
    expect(templateHash({ a: 1, b: [2] }))
      .to.equal(templateHash({ b: [2], a: 1 }))
      .and.match(/^[a-z0-9]{10}$/);
    expect(templateHash({ a: 1 })).not.to.equal(templateHash({ a: 2 }));
    expect(podName('sleep', templateHash({}), () => 0)).to.match(/^sleep-[a-z0-9]{10}-bbbbb$/);
    expect(podName('x'.repeat(80), templateHash({}), Math.random)).to.have.lengthOf(63);
  });
});

describe('lab endpoint slices', () => {
  const service = (spec: unknown) =>
    serviceView({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'foo', uid: 's' }, spec });

  it('resolves a named target port per pod, in a slice for each answer', () => {
    const view = service({ selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] });
    const slices = slicesOf(view, [pod('a', 'h', true), pod('bb', 'h', false, 9090)]);
    expect(slices.map(({ ports }) => ports)).to.deep.equal([
      [{ name: 'http', port: 8080, protocol: 'TCP' }],
      [{ name: 'http', port: 9090, protocol: 'TCP' }],
    ]);
    expect(JSON.stringify(slices[1]?.['endpoints'])).to.include('"ready":false');
  });

  it('leaves services without a selector and other pods alone', () => {
    expect(slicesOf(service({ ports: [{ port: 80 }] }), [pod('a', 'h', true)])).to.deep.equal([]);
    expect(slicesOf(service({ selector: { app: 'other' }, ports: [{ port: 80 }] }), [pod('a', 'h', true)])).to.deep.equal([]);
  });
});

describe('lab tokens', () => {
  it('claim what a token of the TokenRequest API claims', () => {
    const subject = { namespace: 'foo', serviceAccount: { name: 'web', uid: 'u1' }, pod: { name: 'web-1', uid: 'u2' } };
    const now = new Date('2026-01-02T03:04:05.678Z');
    const claims = tokenClaims({
      issuer: 'https://lab',
      subject,
      audience: 'mesh-ca',
      lifetime: seconds(600),
      now,
      id: 'j',
      node: 'lab',
    });
    expect(claims).to.deep.equal({
      iss: 'https://lab',
      sub: 'system:serviceaccount:foo:web',
      aud: ['mesh-ca'],
      iat: 1767323045,
      nbf: 1767323045,
      exp: 1767323645,
      jti: 'j',
      'kubernetes.io': {
        namespace: 'foo',
        node: { name: 'lab' },
        pod: { name: 'web-1', uid: 'u2' },
        serviceaccount: { name: 'web', uid: 'u1' },
      },
    });
  });

  it('are renewed well before they expire, and once a day', () => {
    expect(renewAfter(seconds(600))).to.equal(seconds(480));
    expect(renewAfter(seconds(1_000_000))).to.equal(seconds(86_400));
  });
});

describe('lab command line', () => {
  it('finds the state directory by flag, MESH_LAB_DIR, XDG_STATE_HOME, HOME', () => {
    const env = { MESH_LAB_DIR: '/m', XDG_STATE_HOME: '/x', HOME: '/h' };
    expect(labDirectory('rel', env, '/cwd')).to.equal('/cwd/rel');
    expect(labDirectory('', env, '/cwd')).to.equal('/m');
    expect(labDirectory('', { ...env, MESH_LAB_DIR: undefined }, '/cwd')).to.equal('/x/mesh/lab');
    expect(labDirectory('', { HOME: '/h' }, '/cwd')).to.equal('/h/.local/state/mesh/lab');
    expect(() => labDirectory('', {}, '/cwd')).to.throw('give one by --dir');
  });

  it('reads POD-OR-DEPLOYMENT[.NS]', () => {
    expect(parseTarget('sleep', '')).to.deep.equal({ name: 'sleep', namespace: 'default' });
    expect(parseTarget('sleep.foo', '')).to.deep.equal({ name: 'sleep', namespace: 'foo' });
    expect(parseTarget('sleep', 'bar')).to.deep.equal({ name: 'sleep', namespace: 'bar' });
    expect(() => parseTarget('sleep.foo', 'bar')).to.throw('says namespace foo, the flag says bar');
    expect(() => parseTarget('.foo', '')).to.throw('is not POD-OR-DEPLOYMENT');
  });
});
