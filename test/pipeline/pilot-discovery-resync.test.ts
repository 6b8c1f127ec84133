import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { milliseconds } from '../../src/lib/duration.ts';
import { ScriptedApi, type ScriptedCall } from '../fakes/scripted-api.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';

/** A server that forgets to tell watchers of anything. */
describe('pilot-discovery on an API server whose watches are silent', () => {
  let api: ScriptedApi;
  let root: string;
  let services: readonly object[];
  let discovery: DiscoveryProcess | undefined;
  const lists = new Map<string, number>();

  beforeEach(async () => {
    api = await ScriptedApi.start();
    root = await mkdtemp(join(tmpdir(), 'mesh-resync-'));
    services = [];
    lists.clear();
    void serve();
    const config = {
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'x' } }],
      clusters: [{ name: 'x', cluster: { server: api.url } }],
    };
    await writeFile(join(root, 'kubeconfig'), JSON.stringify(config));
  });
  afterEach(async () => {
    await discovery?.stop();
    await api.stop();
    await rm(root, { recursive: true });
  });

  async function serve(): Promise<void> {
    for (;;) answer(await api.next());
  }

  function answer(call: ScriptedCall): void {
    if (call.query.get('watch') === 'true') return void call.open();
    const kind = call.path.split('/').at(-1) ?? '';
    lists.set(kind, (lists.get(kind) ?? 0) + 1);
    call.answer(200, { metadata: { resourceVersion: '1' }, items: kind === 'services' ? services : [] });
  }

  it('sees a change after --resync', async () => {
    discovery = await DiscoveryProcess.start({ orchconfig: join(root, 'kubeconfig'), resync: milliseconds(200) });
    services = [
      {
        metadata: { name: 'late', namespace: 'foo', resourceVersion: '2' },
        spec: { clusterIP: '10.96.0.9', ports: [{ port: 80 }] },
      },
    ];
    while (!(await (await discovery.page('/debug/registryz')).text()).includes('late.foo')) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (const kind of ['services', 'endpointslices', 'pods', 'nodes', 'policies'])
      expect(lists.get(kind), kind).to.be.greaterThan(1);
  });
});
