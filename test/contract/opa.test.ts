import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { CheckResult } from '../../src/mixs/adapter/adapter.ts';
import { openOpa } from '../../src/mixs/adapter/opa.ts';
import { opa } from '../../src/rules/adapter/opa.ts';
import { adapterEnvironment } from '../fakes/adapter-environment.ts';
import { BackendProcess, requireBackend } from '../harness/backend.ts';
import { freePort } from '../harness/free-port.ts';

const POLICY = `package mesh
default allow := false
allow if { input.subject.user == "alice"; input.action.method == "GET" }
allow if input.action.properties.size < 10
verdict := {"allow": allow}
`;

describe('the opa adapter', () => {
  it('takes no policies of its own, and says where they belong', () => {
    const parsed = opa.parse({ serverUrl: 'ftp://x', path: 'a/../b', policy: ['package x'], deadline: '1h' }, []);
    expect(parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`)).to.deep.equal([
      'policy: policies are not evaluated here; load them into an OPA server, and name it with serverUrl and path',
      'deadline: must be from 10ms to 5s',
      'serverUrl: "ftp://x" is no http or https URL',
      'path: "a/../b" is no path such as mesh/allow',
    ]);
  });

  describe('with a real OPA', () => {
    let server: BackendProcess;

    before(async function () {
      const port = await freePort();
      server = new BackendProcess(requireBackend('opa', this), port, (directory) => {
        writeFileSync(join(directory, 'mesh.rego'), POLICY);
        return ['run', '--server', '--addr', `127.0.0.1:${port}`, '--disable-telemetry', join(directory, 'mesh.rego')];
      });
      await server.start();
    });

    after(() => server?.remove());

    function open(spec: object) {
      const params = opa.parse({ serverUrl: `http://127.0.0.1:${server.port}`, path: 'mesh/allow', deadline: '5s', ...spec }, []);
      if (!params.ok) throw new Error(JSON.stringify(params.problems));
      const environment = adapterEnvironment();
      const handler = openOpa(params.value, environment);
      const ask = async (user: string, method: string, size = 50n): Promise<CheckResult> => {
        const properties = { size: { type: 'INT64', value: size } } as const;
        const values = { name: 'a', subject: { user, properties: {} }, action: { method, properties } };
        const result = await handler.check?.({ template: 'authorization', values }, { signal: environment.signal });
        if (result === undefined) throw new Error('there is no answer');
        return result;
      };
      return { ask, environment };
    }

    for (const path of ['mesh/allow', 'mesh/verdict']) {
      it(`does as ${path} decides, and logs it`, async () => {
        const { ask, environment } = open({ path, validDuration: '7s' });
        expect(await ask('alice', 'GET')).to.deep.equal({
          status: { code: 0, message: '' },
          validMs: 7_000,
          validUses: Number.POSITIVE_INFINITY,
        });
        expect((await ask('alice', 'POST')).status).to.deep.equal({ code: 7, message: 'refused by policy' });
        expect((await ask('bob', 'GET', 5n)).status.code).to.equal(0);
        expect(environment.logger.entries.filter(({ message }) => message === 'OPA has decided')).to.have.length(3);
      });
    }

    it('refuses what no policy decides', async () => {
      const { ask } = open({ path: 'mesh/nothing' });
      expect(await ask('alice', 'GET')).to.deep.equal({
        status: { code: 14, message: 'the policy server gives no decision' },
        validMs: 0,
        validUses: 0,
      });
    });

    it('refuses everything while the server is down or hangs, unless told otherwise, and goes on when it is back', async function () {
      this.timeout(120_000);
      const closed = open({ deadline: '100ms' });
      const opened = open({ deadline: '100ms', failClose: false });
      await server.kill();
      expect((await closed.ask('alice', 'GET')).status.code).to.equal(14);
      expect((await opened.ask('bob', 'POST')).status.code).to.equal(0);
      await server.start();
      while ((await closed.ask('alice', 'GET')).status.code !== 0);
      server.freeze();
      try {
        const many = await Promise.all(Array.from({ length: 1_500 }, () => closed.ask('alice', 'GET')));
        expect(new Set(many.map(({ status }) => status.code))).to.deep.equal(new Set([14]));
      } finally {
        server.thaw();
      }
      while ((await closed.ask('alice', 'GET')).status.code !== 0);
      const told = closed.environment.logger.entries.filter(({ level }) => level !== 'debug').map(({ message }) => message);
      expect(told.slice(0, 3)).to.deep.equal(['OPA decides nothing', 'OPA decides again', 'OPA decides nothing']);
    });
  });
});
