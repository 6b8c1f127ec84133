import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import proxyStatus from '../../../src/commands/meshctl/proxy-status.ts';
import { type CommandRunner, commandRunner } from '../../harness/command-runner.ts';

const NOW = new Date('2026-05-01T12:00:00Z');

const proxy = (pod: string, more: Readonly<Record<string, string>> = {}): object => ({
  proxy: `sidecar~10.1.0.5~${pod}~foo.svc.cluster.local`,
  proxy_version: '1.2.3',
  connected_at: '2026-05-01T11:00:00.000Z',
  sequence: 7,
  ...Object.fromEntries(
    ['cluster', 'listener', 'endpoint', 'route'].flatMap((type) => [
      [`${type}_sent`, 'n1'],
      [`${type}_acked`, 'n1'],
    ]),
  ),
  ...more,
});

describe('meshctl proxy-status', () => {
  const servers: Server[] = [];
  let run: CommandRunner;

  async function replica(page: unknown): Promise<string> {
    const server = createServer((request, response) => {
      const isThere = request.url === '/debug/syncz' && typeof page !== 'string';
      response.writeHead(isThere ? 200 : page === 'certificate' ? 401 : 503).end(isThere ? JSON.stringify(page) : page);
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  before(() => {
    run = commandRunner({ 'proxy-status': proxyStatus }, '/', {}, () => NOW);
  });
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  it('joins the replicas, and tells what is stale, since when, what was never sent and what is rejected', async () => {
    const first = await replica([
      proxy('web-1.foo'),
      proxy('odd-1.foo', {
        listener_rejected: 'no such\nfilter \u001b[31m',
        route_sent: 'n2',
        route_acked: 'n1',
        route_stale_since: '2026-05-01T11:59:15Z',
      }),
    ]);
    const second = await replica([proxy('api-1.bar', { endpoint_sent: '', endpoint_acked: '', cluster_sent: 'n2' }), {}, 7]);
    const { code, out, err } = await run('proxy-status', '--address', `${first},${second}`);
    const name = (address: string): string => address.padEnd(15);
    expect(out.split('\n')).to.deep.equal([
      `PROXY       CDS      LDS        EDS        RDS           ${name('PILOT')}   VERSION`,
      `api-1.bar   STALE    SYNCED     NOT SENT   SYNCED        ${name(second)}   1.2.3`,
      `odd-1.foo   SYNCED   REJECTED   SYNCED     STALE (45s)   ${name(first)}   1.2.3`,
      `web-1.foo   SYNCED   SYNCED     SYNCED     SYNCED        ${name(first)}   1.2.3`,
      '',
      'odd-1.foo LDS: no such filter [31m',
      '',
    ]);
    expect([code, err]).to.deep.equal([0, '']);
  });

  it('tells of one proxy, by its pod or its workload, wherever it is connected', async () => {
    const [first, second] = [
      await replica([proxy('web-6d9f5bcb4d-x2vnk.foo')]),
      await replica([proxy('web-6d9f5bcb4d-x2vnk.foo')]),
    ];
    const { out } = await run('proxy-status', 'web.foo', '--address', first, '--address', second, '-o', 'json');
    expect(JSON.parse(out)).to.have.lengthOf(2);
    expect(JSON.parse(out)[0]).to.deep.include({
      name: 'web-6d9f5bcb4d-x2vnk',
      namespace: 'foo',
      connectedAt: '2026-05-01T11:00:00.000Z',
    });
    expect((await run('proxy-status', 'wep.foo', '--address', first)).err).to.equal(
      'error: no proxy wep.foo is connected to pilot-discovery\n',
    );
  });

  it('goes on with the replicas that answer', async () => {
    const [good, bad] = [await replica([proxy('web-1.foo')]), await replica('starting')];
    const { code, out, err } = await run('proxy-status', '--address', `${bad},${good}`);
    expect(code).to.equal(0);
    expect(out).to.include('web-1.foo');
    expect(err).to.equal(
      `warning: pilot-discovery at ${bad}: http://${bad}/debug/syncz answered with HTTP status 503, not 200; is --address the HTTP port of pilot-discovery?\n`,
    );
    expect((await run('proxy-status', '--address', bad)).code).to.equal(1);
    expect((await run('proxy-status', '--address', await replica('certificate'))).err).to.match(
      /MUTUAL_TLS.*ask it from there\n$/,
    );
  });

  it('says when nobody is connected, and where it would look', async () => {
    expect((await run('proxy-status', '--address', await replica([]))).out).to.equal('No proxies are connected.\n');
    expect(await run('proxy-status')).to.deep.equal({
      code: 2,
      out: '',
      err: 'error: meshctl: --orchconfig (or MESH_ORCHCONFIG) is required outside a cluster: give a kubeconfig\n',
    });
    expect((await run('proxy-status', '--orchconfig', '/tmp')).err).to.equal(
      'error: meshctl: /tmp is a directory of manifests, and no lab runs on it: give the HTTP port of pilot-discovery by --address\n',
    );
    expect((await run('proxy-status', '--address', 'host')).err).to.include('"host" is not host:port');
  });
});
