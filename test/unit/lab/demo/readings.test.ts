import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { CallRecord } from '../../../../src/lab/demo/call-record.ts';
import { callScript, parseCallOutput } from '../../../../src/lab/demo/call-script.ts';
import { proxiesBehind, sequenceWith, servesOldConfiguration } from '../../../../src/lab/demo/in-force.ts';
import { parseCounts } from '../../../../src/lab/demo/mutual-tls.ts';
import { demoDirectory } from '../../../../src/lab/demo/paths.ts';

describe('reading calls', () => {
  it('takes exit code, status and the peer certificate from what the program prints', () => {
    const text = [
      '0 0 {   "headers": { "X-Forwarded-Client-Cert": "By=a;URI=spiffe://cluster.local/ns/foo/sa/sleep" } } 200',
      '1 56  000',
      '2 0 Jwt is missing 401',
      'noise',
    ].join('\n');
    expect([...parseCallOutput(text)]).to.deep.equal([
      [0, { outcome: { status: 200, exit: 0 }, peerCertificate: 'By=a;URI=spiffe://cluster.local/ns/foo/sa/sleep' }],
      [1, { outcome: { status: 0, exit: 56 }, peerCertificate: undefined }],
      [2, { outcome: { status: 401, exit: 0 }, peerCertificate: undefined }],
    ]);
  });

  it('has a program that a shell runs, with the token of each call', () => {
    const target = { namespace: 'foo', service: 'httpbin', port: 8000 } as const;
    const calls = (['none', 'valid'] as const).map((token) => ({ client: 'foo' as const, target, token }));
    const curl = 'curl() { for word; do :; done; printf "%s\\n200" "$word"; }\n';
    const text = execFileSync('sh', ['-s'], {
      input: `${curl}${callScript(calls, new Map([['valid', "t'oken"]]))}`,
      encoding: 'utf8',
    });
    expect(text.trim().split('\n').sort()).to.deep.equal([
      '0 0 http://httpbin.foo:8000/headers 200',
      "1 0 Authorization: Bearer t'oken 200",
    ]);
  });
});

describe('reading whether a change is in force', () => {
  const page = { sequence: 7, objects: { 'Policy foo/default': 'v2' }, mesh: { authPolicy: 'NONE' } };

  it('wants the version of the object that was stored', () => {
    expect(sequenceWith(page, { objects: new Map([['Policy foo/default', 'v2']]), authPolicy: undefined })).to.equal(7);
    expect(sequenceWith(page, { objects: new Map([['Policy foo/default', 'v3']]), authPolicy: undefined })).to.equal(undefined);
  });

  it('takes a later version of an API server, whose versions are numbers', () => {
    const at = (version: string) => ({ sequence: 3, objects: { 'Policy foo/default': version } });
    const wanted = { objects: new Map([['Policy foo/default', '99']]), authPolicy: undefined };
    expect(sequenceWith(at('100'), wanted)).to.equal(3);
    expect(sequenceWith(at('98'), wanted)).to.equal(undefined);
    expect(sequenceWith(at('9f'), wanted)).to.equal(undefined);
  });

  it('wants a deleted object gone', () => {
    expect(sequenceWith(page, { objects: new Map([['Policy foo/default', undefined]]), authPolicy: undefined })).to.equal(
      undefined,
    );
    expect(sequenceWith(page, { objects: new Map([['Policy bar/x', undefined]]), authPolicy: undefined })).to.equal(7);
  });

  it('wants the mesh configuration, and no page that is something else', () => {
    expect(sequenceWith(page, { objects: new Map(), authPolicy: 'MUTUAL_TLS' })).to.equal(undefined);
    expect(sequenceWith(undefined, { objects: new Map(), authPolicy: undefined })).to.equal(undefined);
  });

  it('names the proxies that are behind, those that are not connected too', () => {
    const syncz = [
      { proxy: 'sidecar~10.0.0.1~a.foo~foo.svc.cluster.local', sequence: 7 },
      { proxy: 'sidecar~10.0.0.2~b.foo~foo.svc.cluster.local', sequence: 6 },
    ];
    expect(proxiesBehind(syncz, ['a.foo', 'b.foo', 'c.foo'], 7)).to.deep.equal(['b.foo', 'c.foo']);
    expect(proxiesBehind(undefined, ['a.foo'], 7)).to.deep.equal(['a.foo']);
  });

  it('sees filter chains that drain, and takes silence for old configuration', () => {
    const stats = (draining: number): string =>
      [
        `listener_manager.total_filter_chains_draining: ${draining}`,
        'listener_manager.total_listeners_draining: 0',
        'listener_manager.total_listeners_warming: 0',
      ].join('\n');
    expect(servesOldConfiguration(stats(0))).to.equal(false);
    expect(servesOldConfiguration(stats(2))).to.equal(true);
    expect(servesOldConfiguration('')).to.equal(true);
  });
});

describe("reading Envoy's counts", () => {
  it('takes failed connections out, for they carried nothing', () => {
    const cluster = 'cluster.outbound|8000||httpbin.bar.svc.cluster.local';
    const { inbound, outbound } = parseCounts(
      [
        'listener.0.0.0.0_15006.downstream_cx_total: 9',
        'listener.0.0.0.0_15006.ssl.handshake: 4',
        `${cluster}.upstream_cx_total: 6`,
        `${cluster}.upstream_cx_connect_fail: 1`,
        `${cluster}.upstream_rq_total: 20`,
        `${cluster}.ssl.handshake: 5`,
      ].join('\n'),
    );
    expect(inbound).to.deep.equal({ connections: 9, handshakes: 4 });
    expect([...outbound]).to.deep.equal([['httpbin.bar:8000', { requests: 20, connections: 5, handshakes: 5 }]]);
  });
});

describe('the record of background calls', () => {
  it('tells a failure with its status, time and the change before it', () => {
    const at = (ms: number): Date => new Date(1_000_000 + ms);
    const record = new CallRecord(at(0));
    record.take('200 kept http://other.foo:8000/delay/0.1?call=1', at(1));
    record.changed('apply 2-foo-mtls.yaml', at(10));
    record.take('503 fresh http://other.foo:8000/delay/0.1', at(45));
    expect(record.totals).to.deep.equal({ calls: 2, failed: 1 });
    expect(record.failures).to.deep.equal([
      {
        status: 503,
        url: 'http://other.foo:8000/delay/0.1',
        connection: 'fresh',
        at: at(45),
        after: 'apply 2-foo-mtls.yaml',
        afterMs: 35,
      },
    ]);
  });

  it('takes what it cannot read for a failure', () => {
    const record = new CallRecord(new Date(0));
    record.take('20', new Date(0));
    expect(record.totals).to.deep.equal({ calls: 1, failed: 1 });
    expect(record.failures.map(({ url }) => url)).to.deep.equal(['20']);
  });

  it('keeps counting when it keeps no more details', () => {
    const record = new CallRecord(new Date(0));
    for (let call = 0; call < 50; call++) record.take('000 kept http://a/', new Date(call));
    expect(record.totals).to.deep.equal({ calls: 50, failed: 50 });
    expect(record.failures).to.have.length(20);
  });
});

describe("the demo's directory", () => {
  it("is beside the user's own lab, which MESH_LAB_DIR names", () => {
    expect(demoDirectory('', { HOME: '/home/ann', MESH_LAB_DIR: '/home/ann/mine' }, '/')).to.equal(
      '/home/ann/.local/state/mesh/demo',
    );
    expect(demoDirectory('', { HOME: '/home/ann', XDG_STATE_HOME: '/var/ann' }, '/')).to.equal('/var/ann/mesh/demo');
    expect(demoDirectory('d', { HOME: '/home/ann' }, '/work')).to.equal('/work/d');
  });
});
