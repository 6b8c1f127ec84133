import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { decodeResource } from '../../../src/xds/decode.ts';
import { encodeResource } from '../../../src/xds/encode.ts';
import { CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE, ROUTE_TYPE } from '../../../src/xds/resource.ts';
import { snapshotOfFile, testTranslator } from '../../harness/mesh-input.ts';

const NODE = { id: 'sidecar~10.244.0.5~httpbin-1.foo~foo.svc.cluster.local', cluster: '', metadata: {} };
const CLUSTER = { '@type': CLUSTER_TYPE, name: 'a' };

describe('resources from JSON', () => {
  for (const name of readdirSync('test/golden/xds')) {
    it(`are what they were before they became JSON: ${name}`, () => {
      const snapshot = snapshotOfFile(`test/golden/xds/${name}/input.yaml`);
      for (const type of [CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE, ROUTE_TYPE]) {
        for (const { any } of testTranslator().resources(snapshot, NODE, type, 'coarse').resources.values()) {
          const json: unknown = JSON.parse(JSON.stringify(decodeResource(any)));
          expect(decodeResource(encodeResource(json))).to.deep.equal(json);
          expect(encodeResource(json).length).to.equal(any.length);
        }
      }
    });
  }

  it('may spell fields as the .proto files do', () => {
    const camel = encodeResource({ ...CLUSTER, connectTimeout: '1.25s', edsClusterConfig: { serviceName: 'x' } });
    const snake = encodeResource({ ...CLUSTER, connect_timeout: '1.25s', eds_cluster_config: { service_name: 'x' } });
    expect(snake).to.deep.equal(camel);
    expect(decodeResource(snake)).to.include({ connectTimeout: '1.25s' });
  });

  const refused: readonly [string, unknown, string][] = [
    ['that are no objects', 'x', '"@type"'],
    ['without a type', { name: 'a' }, '"@type"'],
    ['of a type that is not known', { '@type': 'type.googleapis.com/x.Y' }, 'x.Y is not known'],
    ['with a field that is not known', { ...CLUSTER, conect_timeout: '1s' }, 'conect_timeout'],
    ['with an unknown field further down', { ...CLUSTER, edsClusterConfig: { nothing: 1 } }, 'edsClusterConfig.nothing'],
    ['with a bad duration', { ...CLUSTER, connectTimeout: '1 s' }, 'connectTimeout: is not a duration'],
    ['with an unknown type within', { ...CLUSTER, typedExtensionProtocolOptions: { a: { '@type': 'b' } } }, 'Options.a'],
  ];
  for (const [what, json, message] of refused) {
    it(`are refused ${what}`, () => {
      expect(() => encodeResource(json)).to.throw(message);
    });
  }
});
