import { expect } from 'chai';
import { seconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { type CaConfig, resolveConfig } from '../../../src/mesh_ca/config.ts';
import { caFlags } from '../../../src/mesh_ca/flags.ts';

type Given = Readonly<Record<string, unknown>>;

function resolve(given: Given, env: Readonly<Record<string, string>> = {}): CaConfig {
  const defaults = Object.fromEntries(Object.entries(caFlags).map(([name, flag]) => [name, flag.default]));
  const options = { ...defaults, ...given } as unknown as Parameters<typeof resolveConfig>[0]['options'];
  return resolveConfig({ options, given: new Set(), args: [] }, env, '/work');
}

const SELF = { 'self-signed-ca': true };
const BELOW = { 'upstream-ca-address': '10.0.0.1:8060', 'root-cert': 'root.pem' };

describe('the configuration of mesh_ca', () => {
  it('has the defaults of the specification', () => {
    expect(resolve(SELF)).to.deep.equal({
      storePath: '',
      storageNamespace: 'mesh-system',
      listenedNamespace: undefined,
      source: { type: 'self-signed', keyType: 'rsa-2048', ttl: seconds(8760 * 3600), organization: 'k8s.cluster.local' },
      limits: {
        defaultTtl: seconds(2160 * 3600),
        maxTtl: seconds(2160 * 3600),
        organization: '',
        certificateAuthorities: [],
      },
      appendDnsNames: false,
      keyType: 'rsa-2048',
      grace: { ratio: 0.5, minimum: seconds(600) },
      grpc: {
        port: 8060,
        names: ['mesh-citadel', 'mesh-citadel.mesh-system', 'mesh-citadel.mesh-system.svc'].map((value) => ({
          type: 'dns',
          value,
        })),
      },
      liveness: undefined,
    });
  });

  it('ignores the signing files with --self-signed-ca', () => {
    expect(resolve({ ...SELF, 'signing-cert': 'a', 'signing-key': 'b' }).source.type).to.equal('self-signed');
  });

  it('takes the signing files', () => {
    expect(resolve({ 'signing-cert': 'a', 'signing-key': '/b', 'root-cert': 'c' }).source).to.deep.equal({
      type: 'plugged-in',
      files: { signingCert: '/work/a', signingKey: '/b', certChain: '', rootCert: '/work/c' },
    });
  });

  it('takes its certificate from an upper CA', () => {
    expect(resolve(BELOW).source).to.deep.equal({
      type: 'upstream',
      keyType: 'rsa-2048',
      upstream: {
        address: { host: '10.0.0.1', port: 8060 },
        rootFile: '/work/root.pem',
        credential: { type: 'token', file: '/var/run/secrets/tokens/mesh-token' },
        requestedTtl: seconds(8760 * 3600),
      },
    });
    const source = resolve({ ...BELOW, 'upstream-ca-client-cert': 'c.pem', 'upstream-ca-client-key': '/k.pem' }).source;
    expect(source.type === 'upstream' && source.upstream.credential).to.deep.equal({
      type: 'certificate',
      chainFile: '/work/c.pem',
      keyFile: '/k.pem',
    });
  });

  it('listens to the namespace of the flag, else of the environment, else to all', () => {
    expect(resolve({ ...SELF, 'listened-namespace': 'a' }, { NAMESPACE: 'b' }).listenedNamespace).to.equal('a');
    expect(resolve(SELF, { NAMESPACE: 'b' }).listenedNamespace).to.equal('b');
  });

  it('names the server as clients in every namespace do', () => {
    const { grpc } = resolve({ ...SELF, 'grpc-hostname': 'ca', 'grpc-host-identities': 'ca, ca.example.org,10.0.0.1,::1' });
    expect(grpc?.names.map(({ type, value }) => `${type} ${value}`)).to.deep.equal([
      'dns ca',
      'dns ca.mesh-system',
      'dns ca.mesh-system.svc',
      'dns ca.example.org',
      'ip 10.0.0.1',
      'ip ::1',
    ]);
  });

  it('lets its own account, and those that are named, become authorities', () => {
    const given = { ...SELF, 'sign-ca-certs': true, 'sign-ca-certs-for': ['edge/ca'] };
    expect(resolve(given).limits.certificateAuthorities).to.deep.equal([
      { namespace: 'mesh-system', serviceAccount: 'mesh-citadel-service-account' },
      { namespace: 'edge', serviceAccount: 'ca' },
    ]);
  });

  it('serves no gRPC on port 0', () => {
    expect(resolve({ ...SELF, 'grpc-port': 0 }).grpc).to.equal(undefined);
  });

  it('keeps a liveness file where path and interval are given', () => {
    const given = { ...SELF, 'liveness-probe-path': '/tmp/live', 'liveness-probe-interval': seconds(2) };
    expect(resolve(given).liveness).to.deep.equal({ path: '/tmp/live', interval: 2000, checkInterval: 30_000 });
  });

  const REFUSED: readonly (readonly [string, Given, string])[] = [
    ['no authority', {}, 'give --self-signed-ca, --upstream-ca-address, or --signing-cert and --signing-key'],
    ['an upper CA without its root', { 'upstream-ca-address': '10.0.0.1:8060' }, '--upstream-ca-address needs --root-cert'],
    [
      'an upper CA beside a self-signed root',
      { ...SELF, 'upstream-ca-address': '10.0.0.1:8060' },
      '--self-signed-ca cannot stand beside --upstream-ca-address',
    ],
    [
      'an upper CA beside a plugged-in one',
      { 'upstream-ca-address': '10.0.0.1:8060', 'signing-cert': 'a' },
      '--signing-cert cannot stand beside --upstream-ca-address',
    ],
    ['an upper CA without port', { ...BELOW, 'upstream-ca-address': '10.0.0.1' }, '"10.0.0.1" is not host:port'],
    ['an upper CA without host', { ...BELOW, 'upstream-ca-address': ':8060' }, '":8060" is not host:port'],
    ['half of a credential', { ...BELOW, 'upstream-ca-client-cert': 'a' }, '--upstream-ca-client-key need each other'],
    ['a CA certificate that never lives', { ...BELOW, 'requested-ca-cert-ttl': seconds(0) }, '--requested-ca-cert-ttl'],
    ['a certificate without its key', { 'signing-cert': 'a' }, '--signing-cert needs --signing-key'],
    ['a key without its certificate', { 'signing-key': 'a' }, '--signing-key needs --signing-cert'],
    ['a weak key', { ...SELF, 'key-size': 1024 }, '--key-size: 1024 is not one of 2048, 3072, 4096'],
    ['a root that never lives', { ...SELF, 'self-signed-ca-cert-ttl': seconds(0) }, '--self-signed-ca-cert-ttl'],
    ['certificates that never live', { ...SELF, 'workload-cert-ttl': seconds(-1) }, '--workload-cert-ttl'],
    [
      'certificates that live longer than the maximum',
      { ...SELF, 'workload-cert-ttl': seconds(3601), 'max-workload-cert-ttl': seconds(3600) },
      '--workload-cert-ttl: 1h0m1s is more than --max-workload-cert-ttl allows (1h0m0s)',
    ],
    ['a ratio below 0', { ...SELF, 'workload-cert-grace-period-ratio': -0.1 }, '-0.1 is not from 0 to 1'],
    ['a ratio that is no number', { ...SELF, 'workload-cert-grace-period-ratio': Number.NaN }, 'is not from 0 to 1'],
    ['an organization that no certificate holds', { ...SELF, org: 'x'.repeat(65) }, '--org: 65 characters'],
    ['the same of the root', { ...SELF, 'self-signed-ca-org': 'x'.repeat(65) }, '--self-signed-ca-org: 65 characters'],
    [
      'authorities without --sign-ca-certs',
      { ...SELF, 'sign-ca-certs-for': ['a/b'] },
      '--sign-ca-certs-for needs --sign-ca-certs',
    ],
    [
      'authorities that are no account',
      { ...SELF, 'sign-ca-certs': true, 'sign-ca-certs-for': ['b'] },
      '"b" is not of the form namespace/serviceaccount',
    ],
    ['a maximum of nothing', { ...SELF, 'max-workload-cert-ttl': seconds(0) }, '--max-workload-cert-ttl'],
    [
      'a ratio above 1',
      { ...SELF, 'workload-cert-grace-period-ratio': 1.5 },
      '--workload-cert-grace-period-ratio: 1.5 is not from 0 to 1',
    ],
    ['a negative grace period', { ...SELF, 'workload-cert-min-grace-period': seconds(-1) }, '--workload-cert-min-grace-period'],
    ['a host name that is none', { ...SELF, 'grpc-hostname': 'no host' }, '"no host" is none'],
    [
      'a liveness file without interval',
      { ...SELF, 'liveness-probe-path': 'a' },
      '--liveness-probe-path needs --liveness-probe-interval',
    ],
    [
      'a liveness interval without file',
      { ...SELF, 'liveness-probe-interval': seconds(1) },
      '--liveness-probe-interval needs --liveness-probe-path',
    ],
    [
      'liveness checks all the time',
      { ...SELF, 'liveness-probe-path': 'a', 'liveness-probe-interval': seconds(1), 'probe-check-interval': seconds(0) },
      '--probe-check-interval',
    ],
  ];
  for (const [what, given, message] of REFUSED) {
    it(`refuses ${what}`, () => {
      let error: MeshError | undefined;
      try {
        resolve(given);
      } catch (thrown) {
        error = MeshError.from(thrown);
      }
      expect(error?.code).to.equal('usage');
      expect(error?.message).to.contain(message);
    });
  }
});
