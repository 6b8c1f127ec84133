import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import command from '../../src/commands/pilot-agent/debug.ts';
import { DEFAULT_DOMAIN, namesFor } from '../../src/lib/names.ts';
import { readExposition } from '../../src/pilot-agent/exposition.ts';
import { Peer } from '../harness/peer.ts';
import { eventually, isRunning, Sidecar } from '../harness/sidecar.ts';

describe('the status port and debugging of a real proxy', function () {
  this.timeout(120_000);
  let sidecar: Sidecar;
  let application: Server;
  let port: number;

  before(async () => {
    sidecar = await Sidecar.prepare();
    application = createServer((request, response) => {
      if (request.url === '/metrics')
        response
          .setHeader('content-type', 'text/plain')
          .end('# TYPE hits counter\nhits 3\n# TYPE envoy_server_live gauge\nenvoy_server_live 7\n');
      else response.writeHead(request.url === '/healthy' ? 200 : 500).end();
    }).listen(0, '127.0.0.1');
    await once(application, 'listening');
    port = (application.address() as AddressInfo).port;
    const probes = {
      '/app-health/web/readyz': { httpGet: { path: '/healthy', port } },
      '/app-health/web/livez': { httpGet: { path: '/', port } },
    };
    const environment = { MESH_APP_PROBES: JSON.stringify(probes), MESH_APP_SCRAPE: JSON.stringify({ port, path: '/metrics' }) };
    sidecar.start({}, environment);
    await sidecar.ready();
    const peer = await Peer.create(sidecar, false);
    await peer.get('/');
    peer.close();
  });
  after(async () => {
    application.closeAllConnections();
    application.close();
    await sidecar.stop();
  });

  const ask = async (path: string, method = 'GET'): Promise<readonly [number, string]> => {
    const response = await fetch(`http://127.0.0.1:${sidecar.ports.status}${path}`, { method });
    return [response.status, await response.text()];
  };
  const debug = async (...argv: string[]): Promise<string> => {
    const stdout = new PassThrough();
    const host = {
      env: {},
      stdin: process.stdin,
      stdout,
      stderr: process.stderr,
      cwd: '/',
      signal: new AbortController().signal,
      names: namesFor(DEFAULT_DOMAIN),
      now: () => new Date(),
    };
    const outcome = await command.execute([...argv, '--proxyAdminPort', String(sidecar.ports.admin)], 'pilot-agent debug', host);
    expect(outcome).to.deep.equal({ kind: 'exit', code: 0 });
    return String(stdout.read());
  };

  it('answers the probes of the application', async () => {
    expect((await ask('/app-health/web/readyz'))[0]).to.equal(200);
    expect((await ask('/app-health/web/livez'))[0]).to.equal(500);
    expect((await ask('/app-health/web/startupz'))[0]).to.equal(404);
  });

  it('joins the statistics of proxy, application and agent', async () => {
    const [, text] = await ask('/stats/prometheus');
    expect(text).to.contain('hits 3\n').and.to.contain('mesh_agent_certificate_requests_total{result="ok"} 1');
    expect(text).to.contain('envoy_cluster_upstream_rq_total{cluster_name="application"} 1');
    expect(text.match(/^envoy_server_live.*$/gm)).to.deep.equal(['envoy_server_live 1']);
    expect(readExposition(text, false).brokenLines).to.equal(0);
    const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1]);
    expect(new Set(types).size).to.equal(types.length);
  });

  for (const [type, expected] of [
    ['bootstrap', /^node +sidecar~127\.0\.0\.1~web-1\.foo/m],
    ['static', /^cluster +sds-grpc +.*sds\.sock$/m],
    ['clusters', /^application +STATIC +active/m],
    ['endpoints', /^application +127\.0\.0\.1:\d+ +healthy/m],
    ['listeners', /^inbound +127\.0\.0\.1:\d+ +active +1 /m],
    ['routes', /^\(inline\) +all +\* +1 +static$/m],
    ['secrets', /^default +key and certificate +active +URI:spiffe:\/\/cluster\.local\/ns\/foo\/sa\/web +[0-9A-F]+ +\S+Z +yes$/m],
    ['stats', /^cluster\.application\.upstream_rq_total +1$/m],
    ['all', /^SECRETS$/m],
  ] as const) {
    it(`shows ${type}, and no private key`, async () => {
      expect(await debug(type)).to.match(expected);
      for (const output of ['json', 'yaml']) {
        const printed = await debug(type, '-o', output);
        expect(printed).not.to.match(/PRIVATE KEY|UFJJVkFURSBLRV|BSSVZBVEUgS0VZ|QUklWQVRFIEtFW/);
        if (output === 'json') JSON.parse(printed);
      }
    });
  }

  it('ends the sidecar in good order when the workload asks it to', async () => {
    expect(await ask('/quitquitquit', 'POST')).to.deep.equal([200, 'ending\n']);
    expect(await sidecar.exited()).to.equal(0);
    await eventually('the proxy is gone', () => !sidecar.proxyPids().some(isRunning) || undefined);
    expect(sidecar.output).to.contain('draining the proxy');
  });
});
