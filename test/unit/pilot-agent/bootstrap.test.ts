import { readFile, writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { seconds } from '../../../src/lib/duration.ts';
import { buildBootstrap } from '../../../src/pilot-agent/bootstrap.ts';
import { resolveProxyConfig } from '../../../src/pilot-agent/config.ts';
import { envoyArguments, type Restart } from '../../../src/pilot-agent/envoy-arguments.ts';
import { STATS_TAGS } from '../../../src/pilot-agent/stats-tags.ts';
import { proxyOptions } from '../../harness/proxy-options.ts';

const ENV = { POD_NAME: 'web-1', POD_NAMESPACE: 'foo', SERVICE_ACCOUNT: 'web', INSTANCE_IP: '10.0.0.7' };

function configOf(options: Parameters<typeof proxyOptions>[0], env: Readonly<Record<string, string>> = ENV) {
  const config = resolveProxyConfig(proxyOptions(options), env, { app: 'web' }, '1.2.3');
  if (!config.ok) throw new Error(config.problems[0]?.message);
  return config.value;
}

const CASES = [
  ['name', configOf({})],
  [
    'address',
    configOf(
      { discoveryAddress: '[fd00::1]:15010', proxyMark: 1337, availabilityZone: 'a' },
      { ...ENV, INSTANCE_IPS: 'fd00::7' },
    ),
  ],
  ['rest', configOf({ bootstrapv2: false, discoveryRefreshDelay: seconds(2.5) })],
  ['mutual-tls', configOf({ controlPlaneAuthPolicy: 'MUTUAL_TLS' }, { ...ENV, TRUST_DOMAIN: 'example.com' })],
  ['rest-mutual-tls', configOf({ bootstrapv2: false, controlPlaneAuthPolicy: 'MUTUAL_TLS' })],
  ['statsd', configOf({ statsdUdpAddress: '[fd00::8]:8125' })],
  ['zipkin', configOf({ collectorBAddress: 'zipkin.monitoring:9411', connectTimeout: seconds(0.5) })],
] as const;

describe('bootstrap configuration', () => {
  for (const [name, config] of CASES) {
    it(`for discovery by ${name} is as reviewed`, async () => {
      const file = new URL(`../../golden/pilot-agent/bootstrap-${name}.json`, import.meta.url);
      const text = `${JSON.stringify(buildBootstrap(config), null, 2)}\n`;
      if (process.env['UPDATE_GOLDEN'] === '1') await writeFile(file, text);
      expect(text).to.equal(await readFile(file, 'utf8'));
    });
  }
});

describe('statistics labels', () => {
  for (const [statistic, tag, value] of [
    [
      'cluster.outbound|8000||httpbin.foo.svc.cluster.local.upstream_cx_total',
      'cluster_name',
      'outbound|8000||httpbin.foo.svc.cluster.local',
    ],
    ['cluster.inbound|8000||.upstream_cx_total', 'cluster_name', 'inbound|8000||'],
    ['cluster.xds-grpc.upstream_rq_200', 'cluster_name', 'xds-grpc'],
    [
      'cluster.outbound|80||a.b.svc.example.com.outlier_detection.ejections_active',
      'cluster_name',
      'outbound|80||a.b.svc.example.com',
    ],
    [
      'cluster.outbound|80||web.default.svc.cluster.local.default.total_match_count',
      'cluster_name',
      'outbound|80||web.default.svc.cluster.local',
    ],
    ['cluster.outbound|443||ssl.example.com.ssl.handshake', 'cluster_name', 'outbound|443||ssl.example.com'],
    ['cluster.xds-grpc.upstream_rq_200', 'response_code', '200'],
    ['http.inbound_0.0.0.0_8000.downstream_rq_2xx', 'response_code_class', '2xx'],
    ['listener.0.0.0.0_15006.downstream_cx_total', 'listener_address', '0.0.0.0_15006'],
  ] as const) {
    it(`take ${tag} ${value} out of ${statistic}`, () => {
      const tagRule = STATS_TAGS.find((candidate) => candidate.tag_name === tag);
      // POSIX classes are of the proxy's dialect.
      const match = new RegExp((tagRule?.regex ?? '').replaceAll('[:digit:]', '0-9')).exec(statistic);
      expect(match?.[2]).to.equal(value);
    });
  }
});

describe('command line of the proxy', () => {
  const lineOf = (options: Parameters<typeof configOf>[0], restart: Restart = { kind: 'alone' }): string =>
    envoyArguments(configOf(options), '/etc/mesh/proxy/envoy-rev0.json', restart).join(' ');

  it("has the levels' names and whole seconds that Envoy takes", () => {
    const line = lineOf({ proxyLogLevel: 'warn', drainDuration: seconds(1.2), concurrency: 2 });
    expect(line).to.contain('--log-level warning').and.to.contain('--drain-time-s 2').and.to.contain('--concurrency 2');
  });

  it('leaves the number of workers to Envoy unless it is given', () => {
    expect(lineOf({})).not.to.contain('--concurrency');
  });

  for (const [restart, expected] of [
    [{ kind: 'alone' }, '--restart-epoch 0 --disable-hot-restart --drain'],
    [{ kind: 'first', baseIdFile: '/run/id' }, '--restart-epoch 0 --use-dynamic-base-id --base-id-path /run/id --drain'],
    [{ kind: 'next', epoch: 3, baseId: '42' }, '--restart-epoch 3 --base-id 42 --drain'],
  ] as const) {
    it(`tells an epoch that starts ${restart.kind} from the others`, () => {
      expect(lineOf({}, restart)).to.contain(expected);
    });
  }
});
