import { printYaml } from '../model/parse/yaml.ts';
import { DEFAULT_SETTINGS } from './settings.ts';

/**
 * The built-in template. Its variables: `settings` (settings.ts), `pod` (name, namespace, labels, annotations,
 * serviceAccountName), `mesh` (the mesh configuration) and `names.domain`.
 *
 * As an ordinary container the proxy comes first of them: the kubelet starts them in order, so that it has a head start. As a
 * native sidecar it is the item after mesh-init, in the same list: the kubelet starts nothing else before its startup probe
 * is passed, and ends it when every other container has ended.
 */
const TEMPLATE = `\
initContainers:
- name: mesh-init
  image: {{ settings.initImage }}
  imagePullPolicy: {{ settings.imagePullPolicy }}
  args:
  - "-p"
  - "{{ mesh.proxyListenPort }}"
  - "-z"
  - "{{ mesh.proxyInboundListenPort }}"
  {%- if settings.proxyMark == "" %}
  - "-u"
  - "1337"
  - "-g"
  - "1337"
  {%- else %}
  - --proxy-mark
  - {{ settings.proxyMark }}
  {%- endif %}
  - "-m"
  - {{ settings.interceptionMode }}
  - "-i"
  - {{ settings.includeOutboundIPRanges }}
  - "-x"
  - {{ settings.excludeOutboundIPRanges }}
  - "-b"
  - {{ settings.includeInboundPorts }}
  - "-d"
  {%- if settings.excludeInboundPorts == "" %}
  - "15020,15090"
  {%- else %}
  - "15020,15090,{{ settings.excludeInboundPorts }}"
  {%- endif %}
  {%- if settings.excludeOutboundPorts != "" %}
  - --exclude-outbound-ports
  - {{ settings.excludeOutboundPorts }}
  {%- endif %}
  {%- if settings.proxyMark != "" %}
  # The agent's connections to the certificate authority carry no mark: only the proxy's do.
  - --exclude-outbound-ports
  - {{ settings.caAddress | split: ":" | last }}
  {%- endif %}
  securityContext:
    runAsUser: 0
    runAsGroup: 0
    runAsNonRoot: false
    privileged: false
    allowPrivilegeEscalation: false
    capabilities:
      drop: [ALL]
      add: [NET_ADMIN, NET_RAW]
{%- if settings.nativeSidecar != "true" %}
containers:
{%- endif %}
- name: mesh-proxy
  image: {{ settings.proxyImage }}
  imagePullPolicy: {{ settings.imagePullPolicy }}
  {%- if settings.nativeSidecar == "true" %}
  restartPolicy: Always
  startupProbe:
    httpGet:
      path: /healthz/ready
      port: 15020
    periodSeconds: 1
    timeoutSeconds: 3
    failureThreshold: 600
  {%- endif %}
  args:
  - proxy
  - --bootstrapv2
  - --configPath
  - /etc/mesh/proxy
  - --binaryPath
  - /usr/local/bin/proxy
  - --serviceCluster
  - {{ pod.labels.app | default: "mesh-proxy" }}
  - --discoveryAddress
  - {{ settings.discoveryAddress }}
  - --caAddress
  - {{ settings.caAddress }}
  - --controlPlaneAuthPolicy
  - {{ settings.controlPlaneAuthPolicy }}
  - --proxyAdminPort
  - "15000"
  - --statusPort
  - "15020"
  - --proxyLogLevel
  - {{ settings.logLevel }}
  - --concurrency
  - {{ settings.concurrency }}
  {%- if settings.statsdUdpAddress != "" %}
  - --statsdUdpAddress
  - {{ settings.statsdUdpAddress }}
  {%- endif %}
  {%- if settings.collectorBAddress != "" %}
  - --collectorBAddress
  - {{ settings.collectorBAddress }}
  {%- endif %}
  {%- if settings.proxyMark != "" %}
  - --proxyMark
  - {{ settings.proxyMark }}
  {%- endif %}
  env:
  - name: POD_NAME
    valueFrom:
      fieldRef:
        fieldPath: metadata.name
  - name: POD_NAMESPACE
    valueFrom:
      fieldRef:
        fieldPath: metadata.namespace
  - name: INSTANCE_IP
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
  - name: INSTANCE_IPS
    valueFrom:
      fieldRef:
        fieldPath: status.podIPs
  - name: SERVICE_ACCOUNT
    valueFrom:
      fieldRef:
        fieldPath: spec.serviceAccountName
  - name: TRUST_DOMAIN
    value: {{ mesh.trustDomain }}
  - name: MESH_META_INTERCEPTION_MODE
    value: {{ settings.interceptionMode }}
  ports:
  - name: http-envoy-prom
    containerPort: 15090
    protocol: TCP
  readinessProbe:
    httpGet:
      path: /healthz/ready
      port: 15020
    initialDelaySeconds: 1
    periodSeconds: 2
    timeoutSeconds: 3
    failureThreshold: 30
  resources:
    {%- if settings.proxyCPU != "" or settings.proxyMemory != "" %}
    requests:
      {%- if settings.proxyCPU != "" %}
      cpu: {{ settings.proxyCPU }}
      {%- endif %}
      {%- if settings.proxyMemory != "" %}
      memory: {{ settings.proxyMemory }}
      {%- endif %}
    {%- endif %}
    {%- if settings.proxyCPULimit != "" or settings.proxyMemoryLimit != "" %}
    limits:
      {%- if settings.proxyCPULimit != "" %}
      cpu: {{ settings.proxyCPULimit }}
      {%- endif %}
      {%- if settings.proxyMemoryLimit != "" %}
      memory: {{ settings.proxyMemoryLimit }}
      {%- endif %}
    {%- endif %}
  securityContext:
    runAsUser: 1337
    runAsGroup: 1337
    runAsNonRoot: true
    privileged: false
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop: [ALL]
      {%- if settings.proxyMark != "" %}
      add: [NET_ADMIN]
      {%- endif %}
  volumeMounts:
  - name: mesh-envoy
    mountPath: /etc/mesh/proxy
  - name: mesh-podinfo
    mountPath: /etc/mesh/pod
    readOnly: true
  - name: mesh-token
    mountPath: /var/run/secrets/tokens
    readOnly: true
  - name: mesh-ca-root-cert
    mountPath: /var/run/secrets/mesh
    readOnly: true
volumes:
- name: mesh-envoy
  emptyDir:
    medium: Memory
- name: mesh-podinfo
  downwardAPI:
    items:
    - path: labels
      fieldRef:
        fieldPath: metadata.labels
    - path: annotations
      fieldRef:
        fieldPath: metadata.annotations
- name: mesh-token
  projected:
    sources:
    - serviceAccountToken:
        path: mesh-token
        audience: mesh-ca
        expirationSeconds: 43200
- name: mesh-ca-root-cert
  configMap:
    name: mesh-ca-root-cert
# The token is readable by the proxy's group.
securityContext:
  fsGroup: 1337
# The order of containers changes what kubectl exec and logs take when none is named.
annotations:
  kubectl.kubernetes.io/default-container: {{ pod.defaultContainer }}
`;

/** The injection configuration that holds when none is given, as the YAML document that parseInjectionConfig reads. */
export const DEFAULT_INJECTION_CONFIG: string = printYaml({
  policy: 'enabled',
  neverInjectSelector: [],
  alwaysInjectSelector: [],
  imagePullSecrets: [],
  values: DEFAULT_SETTINGS,
  template: TEMPLATE,
});
