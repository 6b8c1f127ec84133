/** Pods that end, with the proxy as a native sidecar, in a lab. */
import { expect } from 'chai';
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

  /** How the pod ends. */
  async function end(name: string, initCommand: string, command: string): Promise<string> {
    await lab.run('apply', '--wait=false', '-f', await lab.file(`${name}.yaml`, job(name, initCommand, command)));
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
});
