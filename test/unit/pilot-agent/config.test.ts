import { expect } from 'chai';
import { milliseconds, seconds } from '../../../src/lib/duration.ts';
import { parseAddress } from '../../../src/pilot-agent/address.ts';
import { type ProxyConfig, resolveProxyConfig } from '../../../src/pilot-agent/config.ts';
import { proxyOptions } from '../../harness/proxy-options.ts';

const POD = { POD_NAME: 'web-1', POD_NAMESPACE: 'foo', INSTANCE_IP: '10.0.0.7' };

function resolve(options: Parameters<typeof proxyOptions>[0], env: Readonly<Record<string, string>> = POD): ProxyConfig {
  const config = resolveProxyConfig(proxyOptions(options), env, { app: 'web' }, '1.2.3');
  if (!config.ok) throw new Error(config.problems.map((problem) => `${problem.path}: ${problem.message}`).join('; '));
  return config.value;
}

const problems = (options: Parameters<typeof proxyOptions>[0], env: Readonly<Record<string, string>> = POD): string[] => {
  const config = resolveProxyConfig(proxyOptions(options), env, {}, '1.2.3');
  return config.ok ? [] : config.problems.map((problem) => `${problem.path}: ${problem.message}`);
};

describe('configuration of the sidecar', () => {
  it('comes from the environment where the flags are empty', () => {
    const config = resolve({}, { ...POD, SERVICE_ACCOUNT: 'web', INSTANCE_IPS: '10.0.0.7, fd00::7' });
    expect(config.node.id).to.equal('sidecar~10.0.0.7~web-1.foo~foo.svc.cluster.local');
    expect(config.addresses).to.deep.equal(['10.0.0.7', 'fd00::7']);
    expect(config.identity).to.deep.equal({ trustDomain: undefined, namespace: 'foo', serviceAccount: 'web' });
    expect(config.discovery.address).to.deep.equal({ host: 'mesh-pilot', port: 15007 });
    expect(config.sdsSocket).to.equal('/etc/mesh/proxy/sds.sock');
  });

  it('prefers the flags', () => {
    const config = resolve({
      id: 'other.bar',
      ip: '10.9.9.9',
      domain: 'bar.svc.example.com',
      serviceCluster: 'shop',
      availabilityZone: 'a',
    });
    expect(config.node).to.include({ id: 'sidecar~10.9.9.9~other.bar~bar.svc.example.com', cluster: 'shop', zone: 'a' });
  });

  it('needs no environment when the flags say it all', () => {
    expect(resolve({ id: 'web-1.foo', ip: '10.0.0.7' }, {}).identity.namespace).to.equal('foo');
  });

  it('secures the link to discovery by the identity of pilot-discovery in the own trust domain', () => {
    const secured = { controlPlaneAuthPolicy: 'MUTUAL_TLS' } as const;
    const id = (env: Readonly<Record<string, string>>) => resolve(secured, env).discovery.serverId;
    expect(id(POD)).to.equal('spiffe://cluster.local/ns/mesh-system/sa/mesh-pilot-service-account');
    expect(id({ ...POD, TRUST_DOMAIN: 'example.com' })).to.match(/^spiffe:\/\/example\.com\//);
    expect(resolve({}).discovery.serverId).to.equal(undefined);
  });

  it('expects pilot-discovery in the namespace that its address names', () => {
    const namespace = (host: string) =>
      resolve({ controlPlaneAuthPolicy: 'MUTUAL_TLS', discoveryAddress: `${host}:15007` }).discovery.serverId?.split('/')[4];
    const hosts = [
      'mesh-pilot',
      '10.1.2.3',
      '[::1]',
      'mesh-pilot.control',
      'mesh-pilot.control.svc.cluster.local',
      'a.b.example.com',
    ];
    expect(hosts.map(namespace)).to.deep.equal([
      'mesh-system',
      'mesh-system',
      'mesh-system',
      'control',
      'control',
      'mesh-system',
    ]);
  });

  it('asks no certificate authority when the certificates are files', () => {
    expect(resolve({ certificatesPath: '/etc/certs', caAddress: '' }).certificates).to.deep.equal({
      kind: 'files',
      chainFile: '/etc/certs/cert-chain.pem',
      keyFile: '/etc/certs/key.pem',
      rootFile: '/etc/certs/root-cert.pem',
    });
  });

  it('tells discovery who it is, and what MESH_META_ variables say', () => {
    const env = { ...POD, MESH_META_INTERCEPTION_MODE: 'REDIRECT', MESH_META_NAMESPACE: 'kube-system', OTHER: 'x' };
    expect(resolve({}, env).node.metadata).to.deep.equal({
      INTERCEPTION_MODE: 'REDIRECT',
      NAMESPACE: 'foo',
      POD_NAME: 'web-1',
      SERVICE_ACCOUNT: 'default',
      INSTANCE_IPS: '10.0.0.7',
      LABELS: { app: 'web' },
      MESH_VERSION: '1.2.3',
    });
  });

  for (const [name, options, env, expected] of [
    ['nothing that names the pod', {}, { INSTANCE_IP: '10.0.0.7' }, '--id: is empty and POD_NAME or POD_NAMESPACE is not set'],
    ['no address', {}, { POD_NAME: 'a', POD_NAMESPACE: 'b' }, '--ip: is empty and INSTANCE_IP is not set'],
    ['an address that is none', { ip: '10.0.0' }, POD, '--ip: "10.0.0" (or INSTANCE_IP, INSTANCE_IPS) is not an IP address'],
    [
      'a discovery address without port',
      { discoveryAddress: 'mesh-pilot' },
      POD,
      '--discoveryAddress: "mesh-pilot" is not an address such as mesh-pilot:15007 or [fd00::1]:15010',
    ],
    ['a poll without pause', { discoveryRefreshDelay: milliseconds(0) }, POD, '--discoveryRefreshDelay: must be more than 0'],
    ['no time to connect', { connectTimeout: milliseconds(0) }, POD, '--connectTimeout: must be more than 0'],
    [
      'a negative time for the parent',
      { parentShutdownDuration: milliseconds(-1) },
      POD,
      '--parentShutdownDuration: must not be negative',
    ],
    [
      'a time that Envoy cannot count',
      { drainDuration: seconds(2 ** 32) },
      POD,
      '--drainDuration: is longer than the proxy can count',
    ],
    ['no proxy', { binaryPath: '' }, POD, '--binaryPath: must not be empty'],
    ['no cluster', { serviceCluster: '' }, POD, '--serviceCluster: must not be empty'],
    ['a domain that would break the node id', { domain: 'a b' }, POD, '--id: neither it nor --domain may contain "~" or blanks'],
    [
      'a name for statsd, whose sink takes none',
      { statsdUdpAddress: 'statsd:8125' },
      POD,
      '--statsdUdpAddress: "statsd:8125" is not an IP address and port such as 10.0.0.5:8125 or [fd00::1]:8125',
    ],
    [
      'a URL for the collector',
      { collectorBAddress: 'http://zipkin:9411/api/v2/spans' },
      POD,
      '--collectorBAddress: "http://zipkin:9411/api/v2/spans" is not an address such as zipkin.monitoring:9411 or [fd00::1]:15010',
    ],
    [
      'a certificate authority without port',
      { caAddress: 'mesh-citadel' },
      POD,
      '--caAddress: "mesh-citadel" is not an address such as mesh-pilot:15007 or [fd00::1]:15010',
    ],
    [
      'two sources for the bootstrap',
      { templateFile: '/a', customConfigFile: '/b' },
      POD,
      '--templateFile: cannot be given together with --customConfigFile',
    ],
    [
      'probes that are none',
      {},
      { ...POD, MESH_APP_PROBES: '{"/app-health/web/readyz":{"httpGet":{"port":0}}}' },
      'MESH_APP_PROBES /app-health/web/readyz.httpGet.port: expected a port from 1 to 65535, got 0',
    ],
    [
      'an application to scrape without port',
      {},
      { ...POD, MESH_APP_SCRAPE: '{"path":"/metrics"}' },
      'MESH_APP_SCRAPE port: is required',
    ],
    ['an id that would break the node id', { id: 'a~b.foo' }, POD, '--id: neither it nor --domain may contain "~" or blanks'],
    ['a negative drain time', { drainDuration: milliseconds(-1) }, POD, '--drainDuration: must not be negative'],
    ['no administration port', { proxyAdminPort: 0 }, POD, '--proxyAdminPort: 0 is not a port the agent could ask the proxy on'],
    [
      'a path too long for a socket',
      { configPath: `/${'x'.repeat(100)}` },
      POD,
      `--configPath: "/${'x'.repeat(100)}" is too long for a Unix socket in it`,
    ],
    [
      'an identity that is none',
      {},
      { ...POD, SERVICE_ACCOUNT: 'a/b' },
      'environment: {"POD_NAMESPACE":"foo","SERVICE_ACCOUNT":"a/b"} does not name an identity',
    ],
  ] as const) {
    it(`refuses ${name}`, () => {
      expect(problems(options, env)).to.deep.equal([expected]);
    });
  }

  it('reports every problem at once', () => {
    expect(problems({ caAddress: ':', discoveryAddress: ':' }, {})).to.have.length(4);
  });
});

describe('addresses', () => {
  for (const [text, host, port] of [
    ['mesh-pilot.mesh-system:15007', 'mesh-pilot.mesh-system', 15007],
    ['10.0.0.1:80', '10.0.0.1', 80],
    ['[fd00::1]:15010', 'fd00::1', 15010],
    ['pilot.example.com.:1', 'pilot.example.com.', 1],
  ] as const) {
    it(`reads ${text}`, () => {
      expect(parseAddress(text)).to.deep.equal({ host, port });
    });
  }

  for (const text of [
    '',
    'a',
    'a:',
    ':80',
    'a:0',
    'a:65536',
    'a:b',
    'fd00::1:80',
    '[10.0.0.1]:80',
    '10.0.0.300:80',
    'http://a:80',
    'a b:80',
  ]) {
    it(`refuses "${text}"`, () => {
      expect(parseAddress(text)).to.equal(undefined);
    });
  }
});
