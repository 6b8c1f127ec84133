import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import type { KubeObject } from '../../../../../src/model/object.ts';
import { receiveObject } from '../../../../../src/sources/store/kubernetes/received.ts';
import { kinds } from '../../../../contract/object-store.ts';

const COUNT = 2_000;
/** What the API server keeps book in, and kubectl: here some 10 kB an object. */
const BALLAST = {
  managedFields: Array.from({ length: 50 }, (_, index) => ({
    manager: `manager-${index}`,
    operation: 'Update',
    fieldsV1: Object.fromEntries(Array.from({ length: 6 }, (__, field) => [`f:field-${index}-${field}`, {}])),
  })),
  annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'x'.repeat(3_000) },
};

describe('memory of received objects', () => {
  let collect: () => void;
  before(() => {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  });

  /** Bytes that a list of objects holds, received as a page of the API is. */
  function heldBy(metadata: object): number {
    const item = (index: number): string =>
      JSON.stringify({ metadata: { name: `a${index}`, namespace: 'foo', ...metadata }, spec: { ports: [{ port: 80 }] } });
    collect();
    const before = process.memoryUsage().heapUsed;
    const objects: KubeObject[] = [];
    for (let index = 0; index < COUNT; index += 1) objects.push(receiveObject(kinds.service, JSON.parse(item(index))));
    collect();
    const after = process.memoryUsage().heapUsed;
    expect(objects).to.have.length(COUNT);
    return after - before;
  }

  it('does not grow with what nobody reads', function () {
    this.timeout(120_000);
    heldBy({});
    const plain = heldBy({});
    const loaded = heldBy(BALLAST);
    expect(Buffer.byteLength(JSON.stringify(BALLAST))).to.be.greaterThan(10_000);
    // Other tests' memory comes and goes meanwhile.
    expect((loaded - plain) / COUNT, 'further bytes an object').to.be.lessThan(2_000);
  });
});
