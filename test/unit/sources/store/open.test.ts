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
    await writeFile(join(root, 'kubeconfig'), 'apiVersion: v1\nkind: Config\n');
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

  const LATER = 'a client configuration of Kubernetes, which is not supported by this build yet; give a directory of manifests';
  const ROWS: readonly (readonly [string, string])[] = [
    ['.', ''],
    ['fs://.', ''],
    ['', '--orchconfig is required outside a cluster: give a directory of manifests'],
    ['k8s://', '--orchconfig is required outside a cluster: give a directory of manifests'],
    ['fs://', '--orchconfig: fs:// names no directory'],
    ['nope', '--orchconfig: ROOT/nope does not exist'],
    ['kubeconfig', `--orchconfig: ROOT/kubeconfig is taken for ${LATER}`],
    ['k8s://kubeconfig', `--orchconfig: ROOT/kubeconfig is taken for ${LATER}`],
    ['k8s://.', `--orchconfig: ROOT is a directory, not ${LATER}`],
    ['fs://kubeconfig', '--orchconfig: ROOT/kubeconfig is not a directory'],
  ];
  for (const [path, message] of ROWS) {
    it(`answers "${path}" with "${message}"`, () => expect(open(path)).to.equal(message));
  }

  it('knows that it runs in a cluster', () => {
    expect(open('', { KUBERNETES_SERVICE_HOST: '10.0.0.1' })).to.include(
      'means the configuration in the cluster: not supported by this build yet',
    );
  });
});
