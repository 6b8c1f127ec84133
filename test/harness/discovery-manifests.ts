/** A service with one pod behind it, and policies for its namespace, as users write them. */
export const OWN_NODE = { id: 'sidecar~10.1.1.1~httpbin-1.foo~foo.svc.cluster.local', cluster: 'httpbin' };

export const service = (name = 'httpbin', clusterIP = '10.96.0.1', namespace = 'foo') => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec: { clusterIP, selector: { app: name }, ports: [{ name: 'http', port: 8000 }] },
});

export const slice = (name = 'httpbin', addresses: readonly string[] = ['10.1.1.1'], namespace = 'foo') => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${name}-1`, namespace, labels: { 'kubernetes.io/service-name': name } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8000 }],
  endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
});

export const pod = (name = 'httpbin', podIP = '10.1.1.1', namespace = 'foo') => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `${name}-1`, namespace, labels: { app: name }, annotations: { 'sidecar.mesh.io/status': '{}' } },
  spec: { containers: [{ name, image: name }] },
  status: { phase: 'Running', podIP, podIPs: [{ ip: podIP }] },
});

export const policy = (name: string, spec: object = { peers: [{ mtls: {} }] }, namespace = 'foo') => ({
  apiVersion: 'authentication.mesh.io/v1alpha1',
  kind: 'Policy',
  metadata: { name, namespace },
  spec,
});
