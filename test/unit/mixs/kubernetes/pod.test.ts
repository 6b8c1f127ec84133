import { expect } from 'chai';
import { readPod } from '../../../../src/mixs/kubernetes/pod.ts';

describe('a pod that attributes speak of', () => {
  it('knows by port the containers that run as long as it does, native sidecars too', () => {
    const container = (name: string, containerPort: number, more: object = {}) => ({ name, ports: [{ containerPort }], ...more });
    const initContainers = [container('migrate', 1), container('proxy', 15_090, { restartPolicy: 'Always' })];
    const spec = { containers: [container('app', 80), container('other', 80)], initContainers };
    const { containers } = readPod({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });
    expect([...containers]).to.deep.equal([
      [80, 'app'],
      [15_090, 'proxy'],
    ]);
  });
});
