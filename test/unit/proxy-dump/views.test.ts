import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { load } from 'js-yaml';
import command from '../../../src/commands/pilot-agent/debug.ts';
import { DEFAULT_DOMAIN, namesFor } from '../../../src/lib/names.ts';
import type { Admin } from '../../../src/pilot-agent/admin.ts';
import type { ConfigurationType } from '../../../src/proxy-dump/configuration-types.ts';
import { printViews } from '../../../src/proxy-dump/print.ts';
import { printTable } from '../../../src/proxy-dump/table.ts';
import { viewsOf } from '../../../src/proxy-dump/views.ts';
import { TestRoot } from '../../harness/test-authority.ts';

/** Not the time when this file was read: other tests may come before. */
let now: Date;
const DUMP = 'type.googleapis.com/envoy.admin.v3.';
const socket = (address: string, port: number) => ({ socket_address: { address, port_value: port } });

async function fakeAdmin(): Promise<Admin> {
  const root = await TestRoot.create();
  const { chainPem, keyPem } = await root.identity({ type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/web' });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const dump = {
    configs: [
      {
        '@type': `${DUMP}BootstrapConfigDump`,
        bootstrap: {
          node: {
            id: 'sidecar~1',
            user_agent_name: 'envoy',
            user_agent_build_version: { version: { major_number: 1, minor_number: 40 } },
          },
          dynamic_resources: { ads_config: { api_type: 'DELTA_GRPC' } },
          admin: { address: socket('127.0.0.1', 15000) },
          static_resources: {
            clusters: [
              {
                name: 'sds-grpc',
                load_assignment: { endpoints: [{ lb_endpoints: [{ endpoint: { address: { pipe: { path: '/sds.sock' } } } }] }] },
              },
            ],
            listeners: [{ name: 'stats', address: socket('::', 15090) }],
            secrets: [{ name: 'own', tls_certificate: { private_key: { inline_string: keyPem } } }],
          },
        },
      },
      {
        '@type': `${DUMP}ClustersConfigDump`,
        static_clusters: [{ cluster: { name: 'sds-grpc' }, last_updated: '2026-01-01T00:00:00.123Z' }],
        dynamic_active_clusters: [
          { cluster: { name: 'b', type: 'EDS' } },
          { cluster: { name: 'a', cluster_type: { name: 'envoy.cluster.dns' } } },
        ],
        dynamic_warming_clusters: [{ cluster: { name: 'c', type: 'EDS' } }],
      },
      {
        '@type': `${DUMP}ListenersConfigDump`,
        dynamic_listeners: [
          {
            name: 'in',
            active_state: {
              listener: { name: 'in', address: socket('0.0.0.0', 15006), filter_chains: [{}], default_filter_chain: {} },
            },
          },
          { name: 'out', error_state: { details: 'no such cluster' } },
        ],
      },
      {
        '@type': `${DUMP}RoutesConfigDump`,
        dynamic_route_configs: [
          {
            route_config: {
              name: '80',
              virtual_hosts: [{ name: 'web', domains: ['web', 'web.foo', 'web.foo.svc'], routes: [{}, {}] }],
            },
          },
        ],
      },
      {
        '@type': `${DUMP}SecretsConfigDump`,
        dynamic_active_secrets: [
          {
            name: 'default',
            secret: {
              tls_certificate: {
                certificate_chain: { inline_bytes: base64(chainPem) },
                private_key: { inline_bytes: base64(keyPem) },
              },
            },
          },
          { name: 'ROOTCA', secret: { validation_context: { trusted_ca: { inline_string: root.pem } } } },
        ],
      },
    ],
  };
  const clusters = {
    cluster_statuses: [
      {
        name: 'b',
        host_statuses: [
          { address: socket('10.0.0.1', 80), health_status: { eds_health_status: 'HEALTHY', failed_outlier_check: true } },
        ],
      },
    ],
  };
  const answers: Readonly<Record<string, string>> = {
    '/config_dump?include_eds': JSON.stringify(dump),
    '/clusters?format=json': JSON.stringify(clusters),
    '/stats': 'b: 2\na|x: y: 1\nh: No recorded values\n',
    '/stats?format=json': '{"stats":[{"name":"b","value":2}]}',
  };
  const get = async (path: string): Promise<string> => answers[path] ?? Promise.reject(new Error(path));
  return { get, post: get };
}

describe('pilot-agent debug', () => {
  let admin: Admin;
  before(async () => {
    admin = await fakeAdmin();
    now = new Date();
  });

  const show = async (type: ConfigurationType, output: 'table' | 'json' | 'yaml' = 'table'): Promise<string> =>
    printViews(await viewsOf(type, admin, now), output);
  const cells = async (type: ConfigurationType): Promise<string[][]> =>
    (await show(type))
      .trim()
      .split('\n')
      .map((line) => line.split(/ {3,}/));

  for (const [type, rows] of [
    [
      'bootstrap',
      [
        ['node', 'sidecar~1'],
        ['proxy', 'envoy 1.40'],
        ['discovery', 'DELTA_GRPC'],
        ['administration', '127.0.0.1:15000'],
      ],
    ],
    [
      'static',
      [
        ['cluster', 'sds-grpc', '/sds.sock'],
        ['listener', 'stats', '[::]:15090'],
        ['secret', 'own'],
      ],
    ],
    [
      'clusters',
      [
        ['a', 'DNS', 'active'],
        ['b', 'EDS', 'active'],
        ['c', 'EDS', 'warming'],
        ['sds-grpc', 'STATIC', 'static', '2026-01-01T00:00:00Z'],
      ],
    ],
    ['endpoints', [['b', '10.0.0.1:80', 'healthy failed_outlier_check', '1']]],
    [
      'listeners',
      [
        ['in', '0.0.0.0:15006', 'active', '2'],
        ['out', 'refused: no such cluster'],
      ],
    ],
    ['routes', [['80', 'web', 'web, web.foo + 1 more', '2', 'active']]],
    [
      'stats',
      [
        ['a|x', 'y: 1'],
        ['b', '2'],
      ],
    ],
  ] as const) {
    it(`has a table of ${type}`, async () => {
      expect((await cells(type)).slice(1)).to.deep.equal(rows);
    });
  }

  it('tells of certificates whom they name and how long they last', async () => {
    const [headings, roots, identity] = await cells('secrets');
    expect(headings).to.deep.equal(['NAME', 'KIND', 'STATE', 'NAMES', 'SERIAL', 'EXPIRES', 'VALID']);
    expect(identity?.slice(0, 4)).to.deep.equal([
      'default',
      'key and certificate',
      'active',
      'URI:spiffe://cluster.local/ns/foo/sa/web',
    ]);
    expect([roots?.[1], roots?.[3], roots?.at(-1)]).to.deep.equal(['roots', 'O=test root', 'yes']);
    const later = printViews(await viewsOf('secrets', admin, new Date(now.getTime() + 7_200_000)), 'table');
    expect(later).to.match(/ no\n.* no\n$/);
  });

  for (const output of ['json', 'yaml'] as const) {
    it(`never shows a private key as ${output}`, async () => {
      for (const type of ['all', 'secrets', 'static', 'bootstrap'] as const) {
        const text = await show(type, output);
        expect(text).not.to.match(/PRIVATE KEY|LS0tLS1CRUdJTiBQUklW/);
        expect(text).to.match(
          type === 'bootstrap' || type === 'static' || type === 'all' || type === 'secrets' ? /\[redacted\]/ : /./,
        );
      }
    });
  }

  it('gives programs what the proxy said, as one document', async () => {
    const types = (document: unknown): unknown =>
      (document as { configs: { '@type': string }[] }).configs.map((config) => config['@type'].replace(DUMP, ''));
    expect(types(JSON.parse(await show('clusters', 'json')))).to.deep.equal(['ClustersConfigDump']);
    const all = JSON.parse(await show('all', 'json'));
    expect(types(all)).to.have.members([
      'BootstrapConfigDump',
      'ClustersConfigDump',
      'ListenersConfigDump',
      'RoutesConfigDump',
      'SecretsConfigDump',
    ]);
    expect(all.endpoints.cluster_statuses).to.have.length(1);
    expect(load(await show('stats', 'yaml'))).to.deep.equal({ stats: [{ name: 'b', value: 2 }] });
  });

  it('has a title over each of all tables', async () => {
    expect((await show('all')).match(/^[A-Z]+$/gm)).to.deep.equal([
      'BOOTSTRAP',
      'CLUSTERS',
      'ENDPOINTS',
      'LISTENERS',
      'ROUTES',
      'SECRETS',
    ]);
  });

  it('prints nothing that a terminal would take for a command', () => {
    expect(printTable([['NAME'], ['a\u001b[2Jb']])).to.equal('NAME\na[2Jb\n');
  });

  describe('on the command line', () => {
    const run = async (...argv: string[]): Promise<unknown[]> => {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()];
      const host = {
        env: {},
        stdin: process.stdin,
        stdout,
        stderr,
        cwd: '/',
        signal: new AbortController().signal,
        names: namesFor(DEFAULT_DOMAIN),
        now: () => now,
      };
      const outcome = await command.execute(argv, 'pilot-agent debug', host);
      return [outcome.kind === 'exit' ? outcome.code : outcome.kind, String(stderr.read() ?? '')];
    };

    it('says that no proxy answers, and what to do', async () => {
      const [code, message] = await run('clusters', '--proxyAdminPort', '1');
      expect(code).to.equal(1);
      expect(message).to.match(
        /port 127\.0\.0\.1:1 does not answer: .*; is a proxy running in this network namespace\? --proxyAdminPort/,
      );
    });

    it('names the nearest type for one that there is not', async () => {
      const [code, message] = await run('endpoint');
      expect(code).to.equal(2);
      expect(message).to.contain(
        '"endpoint" is not one of all, bootstrap, static, clusters, endpoints, listeners, routes, secrets, stats',
      );
      expect(message).to.contain('did you mean "endpoints"?');
    });

    for (const [argv, expected] of [
      [[], 'missing CONFIGURATION-TYPE'],
      [['all', '-o', 'xml'], '--output: "xml" is not one of table, json, yaml'],
      [['all', '--proxyAdminPort', '0'], '--proxyAdminPort: "0" is out of range from 1 to 65535'],
      [['all', 'clusters'], 'there is no place for the argument "clusters"'],
    ] as const) {
      it(`refuses ${argv.join(' ') || 'no type'}`, async () => {
        const [code, message] = await run(...argv);
        expect(code).to.equal(2);
        expect(message).to.contain(expected);
      });
    }
  });
});
