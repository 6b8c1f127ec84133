import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { dump } from 'js-yaml';
import { serverFlags } from '../../src/mixs/flags.ts';
import { run } from '../../src/mixs/main.ts';
import { ruleObject } from '../fakes/rule-objects.ts';
import { freePort } from '../harness/free-port.ts';
import { InProcess } from '../harness/in-process.ts';
import { MixerClient, referencesOf } from '../harness/mixer-client.ts';

describe('mixs server', () => {
  let dir: string;
  let server: InProcess;
  let client: MixerClient;
  let monitoringPort: number;

  const write = (name: string, ...objects: readonly unknown[]): void =>
    writeFileSync(join(dir, name), objects.map((object) => dump(object)).join('---\n'));

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mixs-'));
    write(
      'rules.yaml',
      ruleObject('denier', 'deny', { status: { code: 7, message: 'not today' } }),
      ruleObject('checknothing', 'nothing'),
      ruleObject('rule', 'deny', {
        match: 'source.namespace == "bar" && request.headers["x-open"] != "sesame"',
        actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }],
      }),
      ruleObject('rule', 'caller', {
        match: 'source.namespace == "foo"',
        requestHeaderOperations: [{ name: 'x-caller', values: ['source.name | "nobody"'] }],
      }),
    );
    write(
      'quota.yaml',
      ruleObject('quota', 'count', { dimensions: { user: 'source.user | "all"' } }),
      ruleObject('memquota', 'mem', {
        quotas: [
          { name: 'count', maxAmount: 5, validDuration: '1h', overrides: [{ dimensions: { user: 'vip' }, maxAmount: 100 }] },
        ],
      }),
      ruleObject('rule', 'count', { actions: [{ handler: 'mem.memquota', instances: ['count.quota'] }] }),
    );
    const port = await freePort();
    monitoringPort = await freePort();
    server = await InProcess.start(run, serverFlags, { configStoreURL: `fs://${dir}`, port, monitoringPort }, 'serving');
    client = new MixerClient(port);
  });

  after(async () => {
    client?.close();
    expect(await server?.stop()).to.equal(0);
    rmSync(dir, { recursive: true, force: true });
  });

  it('refuses with the handler and its message, and says how long and on what account', async () => {
    const open = await client.check({ 'source.namespace': 'bar', 'request.headers': { map: { 'x-open': 'sesame' } } });
    expect(open.precondition.status?.code ?? 0).to.equal(0);
    const answer = await client.check({ 'source.namespace': 'bar', 'request.headers': { map: { 'x-open': 'no' } } });
    expect(answer.precondition.status).to.deep.include({ code: 7, message: 'deny.denier.mesh-system:not today' });
    expect(answer.precondition.validDuration).to.deep.include({ seconds: 5 });
    expect(answer.precondition.validUseCount).to.equal(1000);
    expect(referencesOf(answer)).to.include.members([
      'EXACT source.namespace',
      'EXACT request.headers x-open',
      'ABSENCE destination.namespace',
    ]);
  });

  it('grants what no rule refuses, with the headers of rules', async () => {
    const answer = await client.check({ 'source.namespace': 'foo', 'source.name': 'sleep' }, { globalWordCount: 3 });
    expect(answer.precondition.status?.code ?? 0).to.equal(0);
    expect(answer.precondition.validDuration).to.deep.include({ seconds: 60 });
    expect(answer.precondition.routeDirective?.updateRequestHeaders).to.deep.equal([{ name: 'x-caller', value: 'sleep' }]);
    expect(referencesOf(answer)).to.include('EXACT source.namespace');
  });

  it('counts quotas, knows calls that are tried again, and gives what is left to those who take less', async () => {
    const take = async (amount: number, options: { bestEffort?: boolean; id?: string; user?: string } = {}): Promise<number> => {
      const { quotas } = await client.check(
        { 'source.namespace': 'foo', 'source.user': options.user ?? 'me' },
        { quotas: { count: { amount, bestEffort: options.bestEffort ?? false } }, deduplicationId: options.id ?? '' },
      );
      return quotas['count']?.grantedAmount ?? 0;
    };
    expect(await take(3, { id: 'a' })).to.equal(3);
    expect(await take(3, { id: 'a' })).to.equal(3);
    expect(await take(3, { id: 'b' })).to.equal(0);
    expect(await take(3, { bestEffort: true })).to.equal(2);
    expect(await take(1)).to.equal(0);
    expect(await take(50, { user: 'vip' })).to.equal(50);
    const { quotas } = await client.check({ 'source.namespace': 'bar' }, { quotas: { count: { amount: 1 } } });
    expect(quotas ?? {}).to.deep.equal({});
  });

  it('takes reports', () => client.report([{ 'source.namespace': 'foo', 'request.size': 5 }, { 'request.size': 6 }]));

  it('refuses what it cannot read, and goes on', async () => {
    const refused = await client.check({ 'request.size': 'text' }).catch((error: unknown) => error);
    expect(refused).to.have.property('details', 'attributes: request.size is INT64, and comes as one of strings');
    expect(refused).to.have.property('code', 3);
    expect((await client.check({})).precondition.status?.code ?? 0).to.equal(0);
  });

  it('shows its configuration, version and metrics', async () => {
    const page = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${monitoringPort}${path}`)).text();
    expect(JSON.parse(await page('/debug/config'))).to.have.nested.property('handlers[0].handler', 'deny.denier.mesh-system');
    expect(await page('/version')).to.include('Version: ');
    const metrics = await page('/metrics');
    expect(metrics).to.match(/mixs_api_requests_total\{method="Check",status="ok"\} \d+/);
    expect(metrics).to.include('mixs_config_objects{part="rules"} 3');
  });

  it('takes a change while it runs, and keeps the last good while something is wrong', async () => {
    const denied = async (): Promise<string> => {
      const { precondition } = await client.check({ 'source.namespace': 'baz' });
      return precondition.status?.message ?? '';
    };
    const rule = (match: string): unknown =>
      ruleObject('rule', 'baz', { match, actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }] });
    expect(await denied()).to.equal('');
    write('more.yaml', rule('source.namespace == "baz"'));
    while ((await denied()) === '');
    write('more.yaml', rule('source.namespace == '));
    await server.logged('configuration refused');
    expect(await denied()).to.equal('deny.denier.mesh-system:not today');
    expect(server.log).to.include('rule mesh-system/baz').and.include('expected a value, found the end');
    write('more.yaml', rule('source.namespace == "other"'));
    await server.logged('configuration is right again');
    while ((await denied()) !== '');
  });
});
