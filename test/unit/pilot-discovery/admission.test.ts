import { X509Certificate } from 'node:crypto';
import { expect } from 'chai';
import { spiffeIdOf } from '../../../src/io/x509/chain.ts';
import { generateKeyPair } from '../../../src/io/x509/key.ts';
import { seconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { nextSnapshot, type Snapshot } from '../../../src/model/snapshot.ts';
import { createAdmission, createIdentify } from '../../../src/pilot-discovery/admission.ts';
import { makeInputs, makeWorkload } from '../../fakes/model.ts';
import { TestRoot } from '../../harness/test-authority.ts';

const NOW = new Date('2026-05-01T12:00:00Z');
const node = (id = 'sidecar~10.244.0.5~web-1.foo~foo.svc.cluster.local') => ({ id, cluster: '', metadata: {}, userAgent: '' });
const snapshotWith = (addresses: readonly string[]): Snapshot =>
  nextSnapshot(undefined, makeInputs({ workloads: [makeWorkload({ name: 'web-1', addresses })] }));

describe('admission', () => {
  let certificate: X509Certificate;
  let nameless: X509Certificate;
  before(async () => {
    const root = await TestRoot.create(NOW);
    const { publicKey } = await generateKeyPair('ec-p256');
    const id = 'spiffe://cluster.local/ns/foo/sa/web';
    certificate = new X509Certificate(await root.issue(publicKey, [{ type: 'uri', value: id }], seconds(600), NOW));
    nameless = new X509Certificate(await root.issue(publicKey, [{ type: 'dns', value: 'web' }], seconds(600), NOW));
  });

  /** What is said to a peer; undefined: it is admitted. */
  function refusal(snapshot: Snapshot | undefined, shown: X509Certificate, now = NOW, readable = true): string | undefined {
    const identify = createIdentify({ now: () => now, spiffeIdOf: readable ? spiffeIdOf : undefined });
    const admit = createAdmission({ snapshot: () => snapshot, identify });
    try {
      admit(node(), { address: '10.0.0.1:5', certificate: shown });
      return undefined;
    } catch (thrown) {
      return MeshError.from(thrown).code;
    }
  }

  it('lets a pod in its host’s network come from any address, for it has none of its own', () => {
    expect(refusal(snapshotWith([]), certificate)).to.equal(undefined);
    expect(refusal(snapshotWith(['10.244.0.9']), certificate)).to.equal('permission_denied');
  });

  it('asks for a new certificate when one has expired, be its stream open or not', () => {
    expect(refusal(snapshotWith(['10.244.0.5']), certificate)).to.equal(undefined);
    const later = new Date(NOW.getTime() + 601_000);
    expect(refusal(snapshotWith(['10.244.0.5']), certificate, later)).to.equal('unauthenticated');
  });

  it('admits nobody before there is a snapshot, nor by a certificate that names no workload or cannot be read', () => {
    expect(refusal(undefined, certificate)).to.equal('unavailable');
    expect(refusal(snapshotWith(['10.244.0.5']), nameless)).to.equal('permission_denied');
    expect(refusal(snapshotWith(['10.244.0.5']), certificate, NOW, false)).to.equal('permission_denied');
  });
});
