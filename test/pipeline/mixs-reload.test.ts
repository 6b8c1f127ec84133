/** What mixs makes of rules in files that change while it serves. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { dump } from 'js-yaml';
import { serverFlags } from '../../src/mixs/flags.ts';
import { run } from '../../src/mixs/main.ts';
import { ruleObject } from '../fakes/rule-objects.ts';
import { freePort } from '../harness/free-port.ts';
import { InProcess } from '../harness/in-process.ts';
import { MixerClient } from '../harness/mixer-client.ts';

const BASE = [ruleObject('denier', 'deny', { status: { code: 7, message: 'not you' } }), ruleObject('checknothing', 'nothing')];
const rule = (name: string, match: string): unknown =>
  ruleObject('rule', name, { match, actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }] });
const denying = (namespace: string): unknown => rule('deny', `source.namespace == "${namespace}"`);
const yaml = (...objects: readonly unknown[]): string => objects.map((object) => dump(object)).join('---\n');

describe('mixs over files that change', function () {
  this.timeout(120_000);
  let dir: string;
  let rules: string;
  let server: InProcess;
  let client: MixerClient;
  let monitoringPort: number;

  const start = async (): Promise<void> => {
    const port = await freePort();
    monitoringPort = await freePort();
    server = await InProcess.start(run, serverFlags, { configStoreURL: `fs://${rules}`, port, monitoringPort }, 'serving');
    client = new MixerClient(port);
  };
  const page = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${monitoringPort}${path}`)).text();
  const problems = async (): Promise<readonly { object?: string; file?: string; problem: string; inForce: string }[]> =>
    JSON.parse(await page('/debug/config')).problems;
  const metric = async (name: string): Promise<number> =>
    Number(
      (await page('/metrics'))
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length + 1),
    );
  const isDenied = async (namespace: string): Promise<boolean> =>
    (await client.check({ 'source.namespace': namespace })).precondition.status?.code === 7;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mixs-reload-'));
    rules = join(dir, 'rules');
    mkdirSync(rules);
  });
  afterEach(async () => {
    client.close();
    expect(await server.stop()).to.equal(0);
    rmSync(dir, { recursive: true, force: true });
  });

  it('keeps the last good of a bad document, and says so with file and path, on its page and as a metric', async () => {
    const file = join(rules, 'rules.yaml');
    writeFileSync(file, yaml(...BASE, denying('a'), rule('other', 'source.namespace == "b"')));
    await start();
    expect(await isDenied('a')).to.equal(true);
    expect(await metric('mixs_config_objects{part="problems"}')).to.equal(0);
    writeFileSync(file, yaml(...BASE, rule('deny', 'source.namespace == 5'), rule('other', 'source.namespace == "c"')));
    while (!(await isDenied('c'))) expect(await isDenied('a')).to.equal(true);
    expect(await isDenied('a')).to.equal(true);
    expect(await isDenied('b')).to.equal(false);
    const [refused, ...others] = await problems();
    expect(refused).to.include({ object: 'rule mesh-system/deny', file: `${file}:18`, inForce: 'last good' });
    expect(refused?.problem).to.match(/^spec\.match: column 18: /);
    expect(others).to.deep.equal([]);
    expect(server.log).to.include(
      `configuration refused\tobject="rule mesh-system/deny" file=${file}:18 path=spec.match reason=`,
    );
    expect(await metric('mixs_config_objects{part="problems"}')).to.equal(1);
    writeFileSync(file, yaml(...BASE, denying('d')));
    while (!(await isDenied('d')));
    expect(await problems()).to.deep.equal([]);
    expect(await isDenied('a')).to.equal(false);
    expect(await metric('mixs_config_objects{part="problems"}')).to.equal(0);
  });

  it('keeps what is good beside what is none: other text, other bytes, other files', async () => {
    writeFileSync(join(rules, 'good.yaml'), yaml(...BASE, denying('a')));
    writeFileSync(join(rules, 'bad.yaml'), ': : {[');
    writeFileSync(join(rules, 'binary.yaml'), Buffer.from([0xff, 0xfe, 0, 1]));
    writeFileSync(join(rules, 'text.txt'), 'not mine');
    mkdirSync(join(rules, 'directory.yaml'));
    await start();
    expect(await isDenied('a')).to.equal(true);
    expect((await problems()).map(({ problem }) => problem.replace(`${rules}/`, '').split(':')[0])).to.have.members([
      'bad.yaml',
      'binary.yaml',
    ]);
    expect(await metric('mixs_store_problems')).to.equal(2);
  });

  it('takes a ConfigMap that the kubelet swaps, again and again', async () => {
    const version = (name: string, namespace: string): void => {
      mkdirSync(join(rules, name));
      writeFileSync(join(rules, name, 'rules.yaml'), yaml(...BASE, denying(namespace)));
      symlinkSync(name, join(rules, '..data_tmp'));
      renameSync(join(rules, '..data_tmp'), join(rules, '..data'));
    };
    version('..1', 'v1');
    symlinkSync(join('..data', 'rules.yaml'), join(rules, 'rules.yaml'));
    await start();
    expect(await isDenied('v1')).to.equal(true);
    for (let next = 2; next <= 5; next++) {
      version(`..${next}`, `v${next}`);
      rmSync(join(rules, `..${next - 1}`), { recursive: true });
      while (!(await isDenied(`v${next}`)));
      expect(await isDenied(`v${next - 1}`)).to.equal(false);
    }
    expect(await problems()).to.deep.equal([]);
  });

  it('keeps serving while the directory is away, and takes what is there when it comes back', async () => {
    writeFileSync(join(rules, 'rules.yaml'), yaml(...BASE, denying('a')));
    await start();
    renameSync(rules, `${rules}-away`);
    writeFileSync(join(`${rules}-away`, 'rules.yaml'), yaml(...BASE, denying('b')));
    expect(await isDenied('a')).to.equal(true);
    renameSync(`${rules}-away`, rules);
    while (!(await isDenied('b'))) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await isDenied('a')).to.equal(false);
  });

  it('forgets what is removed', async () => {
    writeFileSync(join(rules, 'base.yaml'), yaml(...BASE));
    writeFileSync(join(rules, 'rule.yaml'), yaml(denying('a')));
    await start();
    expect(await isDenied('a')).to.equal(true);
    unlinkSync(join(rules, 'rule.yaml'));
    while (await isDenied('a'));
    expect(await problems()).to.deep.equal([]);
  });
});
