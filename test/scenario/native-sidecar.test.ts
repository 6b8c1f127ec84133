/** Pods that end, with the proxy as a native sidecar, in a lab. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { labPaths, podLogDirectory } from '../../src/lab/paths.ts';
import { LabUnderTest } from '../harness/lab-under-test.ts';

/** A server that takes mutual TLS only. */
const SERVER = `
apiVersion: v1
kind: Namespace
metadata: {name: foo, labels: {mesh-injection: enabled}}
---
apiVersion: authentication.mesh.io/v1alpha1
kind: Policy
metadata: {name: default, namespace: foo}
spec: {peers: [{mtls: {}}]}
---
apiVersion: v1
kind: Service
metadata: {name: httpbin, namespace: foo}
spec: {selector: {app: httpbin}, ports: [{name: http, port: 8000}]}
---
apiVersion: v1
kind: Pod
metadata: {name: httpbin, namespace: foo, labels: {app: httpbin}}
spec: {containers: [{name: httpbin, image: httpbin}]}
`;

const job = (name: string, initCommand: string, command: string): string => `
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: foo
  annotations: {sidecar.mesh.io/nativeSidecar: "true"}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  initContainers: [{name: first, image: sh, command: [sh, -c, '${initCommand}']}]
  containers: [{name: main, image: sh, command: [sh, -c, '${command}']}]
`;

/** Writes down, in a file that all share, what happens to its containers; the two sidecars print what they find there when they end. */
const ORDER = `
apiVersion: v1
kind: Pod
metadata: {name: order, namespace: foo, annotations: {sidecar.mesh.io/inject: "false"}}
spec:
  restartPolicy: Never
  volumes: [{name: shared, emptyDir: {}}]
  initContainers:
  - name: first
    image: sh
    restartPolicy: Always
    command: [sh, -c, 'trap "cat /shared/order; exit 0" TERM; echo first > /shared/order; while :; do sleep 0.1; done']
    startupProbe: {exec: {command: [test, -e, /shared/order]}, periodSeconds: 1, failureThreshold: 60}
    volumeMounts: [{name: shared, mountPath: /shared}]
  - name: second
    image: sh
    restartPolicy: Always
    command: [sh, -c, 'trap "cat /shared/order; echo second ends >> /shared/order; exit 0" TERM; while :; do sleep 0.1; done']
    lifecycle:
      postStart: {exec: {command: [sh, -c, 'echo second starts >> /shared/order']}}
      preStop: {exec: {command: [sh, -c, 'echo second is about to end >> /shared/order']}}
    volumeMounts: [{name: shared, mountPath: /shared}]
  containers:
  - name: main
    image: sh
    command: [sh, -c, 'until [ -e /shared/go ]; do sleep 0.1; done; echo main ends >> /shared/order']
    lifecycle: {postStart: {exec: {command: [touch, /shared/go]}}}
    volumeMounts: [{name: shared, mountPath: /shared}]
`;

/** Tried once: where no proxy runs yet the connection is refused, and the pod has failed. */
const CALL = 'curl -sf --max-time 5 http://httpbin.foo:8000/headers';

interface Status {
  readonly pods: readonly { readonly name: string; readonly status: string }[];
}

describe('a Job with a native sidecar', function () {
  this.timeout(120_000);
  let lab: LabUnderTest;

  before(async () => {
    lab = await LabUnderTest.create();
    expect((await lab.run('up')).code).to.equal(0);
    const applied = await lab.run('apply', '-f', await lab.file('server.yaml', SERVER));
    expect(applied.code, applied.stderr).to.equal(0);
  });

  after(() => lab.remove());

  const end = (name: string, initCommand: string, command: string) => endOf(name, job(name, initCommand, command));

  /** How the pod ends. */
  async function endOf(name: string, manifest: string): Promise<string> {
    await lab.run('apply', '--wait=false', '-f', await lab.file(`${name}.yaml`, manifest));
    for (;;) {
      const status: Status = JSON.parse((await lab.run('status', '-o', 'json')).stdout);
      const pod = status.pods.find((each) => each.name === name);
      if (pod?.status === 'Succeeded' || pod?.status === 'Failed') return pod.status;
    }
  }

  it('has its proxy ready from its first init container on, and ends when its program has', async () => {
    expect(await end('job', CALL, CALL)).to.equal('Succeeded');
  });

  it('fails when its program does, whatever the proxy does', async () => {
    expect(await end('failing', 'true', `${CALL} && exit 3`)).to.equal('Failed');
  });

  it('ends after its program, and its hooks run: the lab orders containers as a kubelet does', async () => {
    expect(await endOf('order', ORDER)).to.equal('Succeeded');
    const printed = (container: string): string =>
      readFileSync(join(podLogDirectory(labPaths(lab.dir), 'foo', 'order'), `${container}.log`), 'utf8');
    const before = ['first', 'second starts', 'main ends', 'second is about to end'];
    expect(printed('second').trim().split('\n')).to.deep.equal(before);
    expect(printed('first').trim().split('\n')).to.deep.equal([...before, 'second ends']);
  });
});
