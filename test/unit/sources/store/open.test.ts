import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MeshError } from '../../../../src/lib/errors.ts';
import { openStore } from '../../../../src/sources/store/open.ts';
import { kinds } from '../../../contract/object-store.ts';

describe('openStore', () => {
  let root: string;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'mesh-open-'));
    await writeFile(join(root, 'broken'), 'apiVersion: v1\nkind: Config\n');
    const config = {
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'x' } }],
      clusters: [{ name: 'x', cluster: { server: 'https://127.0.0.1:1' } }],
    };
    await writeFile(join(root, 'kubeconfig'), JSON.stringify(config));
  });
  after(() => rm(root, { recursive: true }));

  /** What opening says: nothing when it works. */
  function open(path: string, env: Readonly<Record<string, string>> = {}): string {
    try {
      openStore(path, { flag: '--orchconfig', kinds, env, cwd: root, now: () => new Date(), newUid: () => 'x' });
      return '';
    } catch (error) {
      return error instanceof MeshError && error.code === 'usage' ? error.message.replaceAll(root, 'ROOT') : String(error);
    }
  }

  const BROKEN = 'ROOT/broken is no usable kubeconfig: contexts: the current-context is not set; there are no contexts';
  const ROWS: readonly (readonly [string, string])[] = [
    ['.', ''],
    ['fs://.', ''],
    ['kubeconfig', ''],
    ['k8s://kubeconfig', ''],
    ['', '--orchconfig is required outside a cluster: give a kubeconfig or a directory of manifests'],
    ['k8s://', '--orchconfig is required outside a cluster: give a kubeconfig or a directory of manifests'],
    ['fs://', '--orchconfig: fs:// names no directory'],
    ['nope', '--orchconfig: ROOT/nope does not exist'],
    ['http://host', '--orchconfig: http://host is neither fs://<directory> nor k8s://<path to client config>'],
    ['k8s://.', '--orchconfig: ROOT is a directory, not a kubeconfig'],
    ['fs://kubeconfig', '--orchconfig: ROOT/kubeconfig is not a directory'],
  ];
  for (const [path, message] of ROWS) {
    it(`answers "${path}" with "${message}"`, () => expect(open(path)).to.equal(message));
  }

  it('says what is wrong with a kubeconfig', () => expect(open('broken')).to.include(`--orchconfig: ${BROKEN}`));

  it('says what a pod lacks that has no token', () => {
    expect(open('', { KUBERNETES_SERVICE_HOST: '10.0.0.1' })).to.match(
      /^--orchconfig: empty means the configuration in the cluster, which is not complete: .*serviceaccount\/token: does not exist; the pod needs/,
    );
  });
});
