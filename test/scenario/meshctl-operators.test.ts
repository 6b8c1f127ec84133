/** What operators ask a running mesh, by the commands as they are typed. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { LabUnderTest, MANIFESTS, STRICT } from '../harness/lab-under-test.ts';

describe('meshctl for operators, on a lab', function () {
  this.timeout(240_000);
  let lab: LabUnderTest;

  before(async () => {
    lab = await LabUnderTest.create();
    expect((await lab.run('up')).code).to.equal(0);
    const applied = await lab.run('apply', '-f', await lab.file('mesh.yaml', MANIFESTS));
    expect(applied.code, applied.stderr).to.equal(0);
  });
  after(() => lab.remove());

  const rows = (text: string): readonly (readonly string[])[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/));

  it('finds nothing wrong with it, and what a file would do to it', async () => {
    const healthy = await lab.meshctl('analyze');
    expect(healthy).to.deep.equal({ code: 0, stdout: 'No problems found.\n', stderr: '' });
    const file = await lab.file('wrong.yaml', STRICT.replace('peers:', 'targets: [{name: htpbin}], peers:'));
    const { code, stdout } = await lab.meshctl('analyze', '-f', file, '-o', 'json');
    expect(code).to.equal(0);
    const { findings } = JSON.parse(stdout);
    expect(findings.map((finding: { code: string; line: number }) => finding.code)).to.deep.equal(['MESH202']);
    expect(findings[0]).to.deep.include({ file, object: { kind: 'Policy', namespace: 'foo', name: 'default' } });
  });

  it('lists the proxies, all of which have everything', async () => {
    let table: readonly (readonly string[])[] = [];
    // A proxy that was just started acknowledges its last type a moment later.
    do table = rows((await lab.meshctl('proxy-status')).stdout);
    while (table.slice(1).some((row) => row.slice(1, 5).join() !== 'SYNCED,SYNCED,SYNCED,SYNCED'));
    expect(table[0]).to.deep.equal(['PROXY', 'CDS', 'LDS', 'EDS', 'RDS', 'PILOT', 'VERSION']);
    expect(table.slice(1).map(([proxy = '']) => proxy.replace(/-\w{10}-\w{5}/, ''))).to.deep.equal(['httpbin.foo', 'sleep.foo']);
    const { version } = JSON.parse(await readFile('package.json', 'utf8'));
    expect(table[1]?.slice(5)).to.deep.equal(['pilot-discovery', version]);
    expect(rows((await lab.meshctl('proxy-status', 'httpbin.foo')).stdout)).to.have.lengthOf(2);
  });

  it('shows what a proxy has, which is what discovery sends to it', async () => {
    const clusters = async (...more: readonly string[]): Promise<readonly string[]> => {
      const { code, stdout, stderr } = await lab.meshctl('proxy-config', 'clusters', 'sleep.foo', ...more);
      expect(code, stderr).to.equal(0);
      return rows(stdout).flatMap(([name = '', , state]) => (state === 'active' ? [name] : []));
    };
    const own = await clusters('--source', 'proxy');
    expect(own.some((name) => name.startsWith('outbound|8000||httpbin.foo'))).to.equal(true);
    expect(await clusters('--source', 'discovery')).to.deep.equal(own);
    for (const type of ['listeners', 'routes', 'endpoints']) {
      const sent = await lab.meshctl('proxy-config', type, 'httpbin.foo', '--source', 'discovery');
      expect(sent.code, sent.stderr).to.equal(0);
      expect(rows(sent.stdout).length, type).to.be.greaterThan(1);
    }
  });

  it('shows certificates and never their keys', async () => {
    const { stdout } = await lab.meshctl('proxy-config', 'secrets', 'httpbin.foo', '-o', 'json');
    expect(stdout).to.include('certificate_chain');
    expect(stdout).not.to.include('PRIVATE KEY');
    const table = await lab.meshctl('proxy-config', 'secrets', 'httpbin.foo');
    expect(table.stdout).to.include('spiffe://cluster.local/ns/foo/sa/default');
    expect((await lab.meshctl('proxy-config', 'clusters', 'sleep.legacy')).stderr).to.match(
      /^error: pod sleep-\S+\.legacy has no sidecar, so there is no proxy to ask\n$/,
    );
  });

  it('tells which calls fail, as they do', async () => {
    expect((await lab.meshctl('create', '-f', await lab.file('strict.yaml', STRICT))).code).to.equal(0);
    await lab.eventually('000 56', 'sleep.legacy');
    const check = async (client: string): Promise<readonly (string | undefined)[]> =>
      rows((await lab.meshctl('tls-check', client, 'httpbin.foo')).stdout)[1]?.slice(0, 5) ?? [];
    const host = 'httpbin.foo.svc.cluster.local:8000';
    expect(await check('sleep.legacy')).to.deep.equal([host, 'CONFLICT', 'mTLS', 'HTTP', 'Policy foo/default']);
    expect(await check('sleep.foo')).to.deep.equal([host, 'OK', 'mTLS', 'mTLS', 'Policy foo/default']);
    expect(await lab.call('sleep.foo')).to.equal('200 0');
  });
});
