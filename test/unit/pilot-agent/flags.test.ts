import { expect } from 'chai';
import { loggingFlags } from '../../../src/flags/logging.ts';
import { parseCommandLine } from '../../../src/flags/parse.ts';
import { resolveProxyConfig } from '../../../src/pilot-agent/config.ts';
import { proxyFlags } from '../../../src/pilot-agent/flags.ts';

const POD = { POD_NAME: 'web-1', POD_NAMESPACE: 'foo', INSTANCE_IP: '10.0.0.7' };

/** A wrong value of each flag. */
const WRONG: Readonly<Record<string, string>> = {
  binaryPath: '',
  bootstrapv2: 'maybe',
  concurrency: '-1',
  configPath: `/${'x'.repeat(100)}`,
  connectTimeout: '0s',
  controlPlaneAuthPolicy: 'MUTUAL',
  discoveryAddress: 'mesh-pilot',
  discoveryRefreshDelay: '-1s',
  domain: 'a~b',
  drainDuration: '2',
  id: 'web 1.foo',
  ip: '10.0.0.256',
  parentShutdownDuration: '-3s',
  proxyAdminPort: '65536',
  proxyLogLevel: 'warning',
  serviceCluster: '',
  serviceregistry: 'Zookeeper',
  statsdUdpAddress: 'statsd:8125',
  collectorBAddress: 'zipkin',
  caAddress: 'http://ca:8060',
  keyType: 'dsa',
  statusPort: '-1',
  prometheusPort: 'http',
  inboundCapturePort: '70000',
  proxyMark: '4294967296',
};
/** Any text is right for these, or it is read as a file when it is needed (test/scenario shows what happens then). */
const ANY: readonly string[] = [
  'availabilityZone',
  'customConfigFile',
  'templateFile',
  'certificatesPath',
  'caRootFile',
  'tokenFile',
];

describe('the flags of pilot-agent proxy', () => {
  const own = Object.keys(proxyFlags).filter((name) => !Object.hasOwn(loggingFlags, name));

  it('are all spoken of here', () => {
    expect([...Object.keys(WRONG), ...ANY].sort()).to.deep.equal(own.sort());
  });

  for (const [name, value] of Object.entries(WRONG)) {
    it(`refuse --${name}=${value.slice(0, 20)}, and say so`, () => {
      const parsed = parseCommandLine(proxyFlags, [], [`--${name}=${value}`], {});
      const found =
        parsed.ok && parsed.value.kind === 'run' ? resolveProxyConfig(parsed.value.invocation.options, POD, {}, '1') : parsed;
      const problems = found.ok ? [] : found.problems.map((problem) => `${problem.path}: ${problem.message}`);
      expect(problems).to.have.length(1);
      // --domain is a part of the node's id, which names both flags.
      expect(problems[0]).to.contain(`--${name}`);
    });
  }
});
