import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { printYaml } from '../../../src/model/parse/yaml.ts';
import { CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE, ROUTE_TYPE, type TypeUrl } from '../../../src/xds/resource.ts';
import { readable } from '../../harness/envoy-messages.ts';
import { proxyResources, staticBootstrap, validate } from '../../harness/envoy-validate.ts';
import { snapshotOfManifests, testTranslator } from '../../harness/mesh-input.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/xds/', import.meta.url));

const OUTPUTS: Readonly<Record<string, TypeUrl>> = {
  'clusters.yaml': CLUSTER_TYPE,
  'endpoints.yaml': ENDPOINT_TYPE,
  'listeners.yaml': LISTENER_TYPE,
  'routes.yaml': ROUTE_TYPE,
};

/** The first line of an input names the proxy: `# node: sidecar~...`; a second may narrow the outputs: `# only: listeners`. */
function readInput(folder: string) {
  const text = readFileSync(`${GOLDEN}${folder}/input.yaml`, 'utf8');
  const id = /^# node: (\S+)$/m.exec(text)?.[1] ?? '';
  const only = /^# only: (.+)$/m.exec(text)?.[1]?.split(' ');
  const outputs = Object.entries(OUTPUTS).filter(([file]) => only?.includes(file.replace('.yaml', '')) ?? true);
  return { snapshot: snapshotOfManifests(text), node: { id, cluster: 'test', metadata: {} }, outputs };
}

/** UPDATE_GOLDEN=1 rewrites the expected files. */
describe('translation, as files', () => {
  for (const folder of readdirSync(GOLDEN).sort()) {
    const { snapshot, node, outputs } = readInput(folder);
    for (const [file, typeUrl] of outputs) {
      it(`${folder}: ${file}`, () => {
        const { resources } = testTranslator().resources(snapshot, node, typeUrl, 'coarse');
        const actual = printYaml([...resources.values()].map(({ any }) => readable(any)));
        const path = `${GOLDEN}${folder}/${file}`;
        if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(path, actual);
        expect(existsSync(path), `${path} is missing: run with UPDATE_GOLDEN=1`).to.equal(true);
        expect(actual).to.equal(readFileSync(path, 'utf8'));
      });
    }

    it(`${folder}: Envoy takes it`, async () => {
      await validate(staticBootstrap(proxyResources(testTranslator(), snapshot, node)));
    });
  }
});
