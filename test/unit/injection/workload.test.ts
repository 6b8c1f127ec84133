import { expect } from 'chai';
import { mapPods } from '../../../src/injection/workload.ts';

const POD = { spec: { containers: [] } };
const METADATA = { name: 'x', namespace: 'foo' };
const TEMPLATED: readonly (readonly [string, string])[] = [
  ['apps/v1', 'Deployment'],
  ['apps/v1', 'StatefulSet'],
  ['apps/v1', 'DaemonSet'],
  ['apps/v1', 'ReplicaSet'],
  ['batch/v1', 'Job'],
  ['v1', 'ReplicationController'],
  ['extensions/v1beta1', 'Deployment'],
];

const mark = (object: unknown) => mapPods(object, 'bar', ({ title, namespace }) => ({ marked: `${title} in ${namespace}` }));

describe('pods of workloads', () => {
  for (const [apiVersion, kind] of TEMPLATED) {
    it(`are the template of a ${apiVersion} ${kind}`, () => {
      const object = { apiVersion, kind, metadata: METADATA, spec: { replicas: 2, template: POD } };
      const spec = { replicas: 2, template: { marked: `${kind} foo/x in foo` } };
      expect(mark(object)).to.deep.equal({ apiVersion, kind, metadata: METADATA, spec });
    });
  }

  it('are the template of a CronJob’s job', () => {
    const object = {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: METADATA,
      spec: { jobTemplate: { spec: { template: POD } } },
    };
    expect(mark(object)).to.have.nested.property('spec.jobTemplate.spec.template.marked', 'CronJob foo/x in foo');
  });

  it('are a Pod itself, in the default namespace when it names none', () => {
    expect(mark({ apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'y-' }, ...POD })).to.deep.equal({
      marked: 'Pod bar/y- in bar',
    });
  });

  it('are found in lists, in lists of lists too', () => {
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: METADATA, spec: { template: POD } };
    const list = { apiVersion: 'v1', kind: 'List', items: [{ kind: 'Other' }, { apiVersion: 'v1', kind: 'List', items: [job] }] };
    expect(mark(list)).to.have.nested.property('items[1].items[0].spec.template.marked');
    expect(mark(list)).to.have.nested.property('items[0].kind', 'Other');
  });

  for (const object of [
    { apiVersion: 'v1', kind: 'Service', metadata: METADATA, spec: { template: POD } },
    { apiVersion: 'batch.example.com/v1', kind: 'Job', metadata: METADATA, spec: { template: POD } },
    { kind: 'constructor', metadata: METADATA },
    { apiVersion: 'v1', kind: 'List', items: [{ kind: 'Other' }] },
    'text',
    undefined,
  ]) {
    it(`are not in ${JSON.stringify(object)}, which stays the very same`, () => {
      expect(mark(object)).to.equal(object);
    });
  }

  it('stay the very same when nothing changes', () => {
    const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: METADATA, spec: { template: POD } };
    expect(mapPods(object, 'bar', () => undefined)).to.equal(object);
  });

  it('must be there', () => {
    expect(() => mark({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: METADATA, spec: {} })).to.throw(
      'Deployment foo/x: spec.template must be a pod template',
    );
  });
});
