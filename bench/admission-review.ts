/** The review of a pod as an API server sends it: one of the Deployment `app`, with probes, an environment and the volume of its token. */
export function typicalReview(app = 'cart'): string {
  const container = (name: string, port: number) => ({
    name,
    image: `registry.example.com/shop/${name}:1.24.3`,
    imagePullPolicy: 'IfNotPresent',
    ports: [{ name: 'http', containerPort: port, protocol: 'TCP' }],
    env: Array.from({ length: 12 }, (_, index) => ({
      name: `SETTING_${index}`,
      value: `https://service-${index}.shop:8443/path`,
    })),
    resources: { requests: { cpu: '250m', memory: '256Mi' }, limits: { memory: '512Mi' } },
    livenessProbe: { httpGet: { path: '/live', port: 'http', scheme: 'HTTP' }, periodSeconds: 10, failureThreshold: 3 },
    readinessProbe: { httpGet: { path: '/ready', port: 'http', scheme: 'HTTP' }, periodSeconds: 5, failureThreshold: 3 },
    volumeMounts: [
      { name: 'config', mountPath: '/etc/shop' },
      { name: 'kube-api-access-x7z2p', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true },
    ],
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  });
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: `${app}-5d8f7c9b6-`,
      namespace: 'shop',
      labels: { app, version: 'v1', 'pod-template-hash': '5d8f7c9b6' },
      annotations: { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '8080', 'checksum/config': 'b'.repeat(64) },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${app}-5d8f7c9b6`, uid: 'c1', controller: true }],
    },
    spec: {
      containers: [container('cart', 8080), container('cache', 8081)],
      volumes: [
        { name: 'config', configMap: { name: 'cart', defaultMode: 420 } },
        {
          name: 'kube-api-access-x7z2p',
          projected: {
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
              { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
              {
                downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] },
              },
            ],
            defaultMode: 420,
          },
        },
      ],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: 'cart',
      serviceAccount: 'cart',
      securityContext: {},
      schedulerName: 'default-scheduler',
      tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }],
      priority: 0,
      enableServiceLinks: true,
      preemptionPolicy: 'PreemptLowerPriority',
    },
    status: {},
  };
  return JSON.stringify({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: '4f6c1f3e-8f0f-4d4c-9b0f-2d9a3f1f7f11',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      namespace: 'shop',
      operation: 'CREATE',
      userInfo: { username: 'system:serviceaccount:kube-system:replicaset-controller', groups: ['system:authenticated'] },
      object,
      oldObject: null,
      dryRun: false,
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
    },
  });
}
