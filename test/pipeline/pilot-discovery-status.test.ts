/** What proxies and other policies make of a policy stands in its status, where the policy is the mesh's to write. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DeltaDiscoveryRequest } from '#gen/envoy/service/discovery/v3/discovery.ts';
import { deltaClient } from '../harness/ads-client.ts';
import { OWN_NODE, pod, policy, service, slice } from '../harness/discovery-manifests.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { manifest } from '../harness/manifest.ts';
import { eventually } from '../harness/sidecar.ts';

const LISTENER = 'type.googleapis.com/envoy.config.listener.v3.Listener';

describe('the status of policies', function () {
  this.timeout(120_000);
  let dir: string;
  let discovery: DiscoveryProcess;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-discovery-'));
    manifest(dir, 'mesh.yaml', service(), slice(), pod());
  });

  afterEach(async () => {
    await discovery.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /** As a store has it that made the object. */
  const made = (name: string, created: string, spec?: object) => {
    const object = policy(name, spec);
    const uid = '7d9f1b52-96a4-4f5e-9a37-2f3f6f0f6c11';
    return { ...object, metadata: { ...object.metadata, uid, creationTimestamp: `2026-01-01T${created}Z` } };
  };
  const textOf = (file: string): string => readFileSync(join(dir, file), 'utf8');
  const sequence = async (): Promise<number> =>
    ((await (await discovery.page('/debug/snapshotz')).json()) as { sequence: number }).sequence;

  it('says that proxies reject one, and that they take it again, and then rests', async () => {
    discovery = await DiscoveryProcess.start({ orchconfig: dir });
    const client = deltaClient(discovery.ports.grpc);
    client.send(DeltaDiscoveryRequest.fromPartial({ node: OWN_NODE, typeUrl: LISTENER }));
    const answer = async (rejection?: string): Promise<void> => {
      const { nonce: responseNonce } = await client.next();
      const errorDetail = rejection === undefined ? {} : { errorDetail: { code: 13, message: rejection } };
      client.send(DeltaDiscoveryRequest.fromPartial({ typeUrl: LISTENER, responseNonce, ...errorDetail }));
    };
    await answer();
    manifest(dir, 'policy.yaml', made('strict', '10:00:00'));
    await answer('virtualInbound: no');
    await eventually('the rejection is in the status', () => /status: ["']?False/.test(textOf('policy.yaml')));
    expect(textOf('policy.yaml')).to.include('RejectedByProxies').and.include('virtualInbound: no');
    manifest(
      dir,
      'mesh.yaml',
      { ...service(), spec: { ...service().spec, ports: [{ name: 'tcp', port: 8000 }] } },
      slice(),
      pod(),
    );
    await answer();
    await eventually('the status says that it is accepted', () => /reason: Accepted/.test(textOf('policy.yaml')));
    const settled = await eventually('the last write was read', async () => {
      const before = await sequence();
      await new Promise((resolve) => setTimeout(resolve, 500));
      return before === (await sequence()) ? before : undefined;
    });
    expect(settled).to.be.lessThan(8);
    client.close();
  });

  it('says that an older one is in force, and leaves what people wrote as it is', async () => {
    manifest(dir, 'older.yaml', made('older', '09:00:00'));
    manifest(dir, 'younger.yaml', made('younger', '10:00:00', {}));
    manifest(dir, 'written.yaml', policy('written', {}));
    const before = textOf('written.yaml');
    discovery = await DiscoveryProcess.start({ orchconfig: dir });
    await eventually('the conflict is in the status', () => textOf('younger.yaml').includes('OlderPolicyInForce'));
    expect(textOf('younger.yaml')).to.include('Policy foo/older is older');
    expect([textOf('written.yaml'), textOf('older.yaml').includes('status')]).to.deep.equal([before, false]);
  });
});
