/** Every code that `meshctl analyze` may give, in the order of docs/reference/meshctl.md. A code keeps its meaning for ever. */

export type Severity = 'error' | 'warning' | 'info';

interface Entry {
  readonly severity: Severity;
  readonly title: string;
  /** What to do. */
  readonly action: string;
}

const entry = (severity: Severity, title: string, action: string): Entry => ({ severity, title, action });

export const CATALOGUE = {
  MESH101: entry('error', 'invalid object', 'correct what the message names; until then the object is not in force'),
  MESH102: entry('warning', 'object that the mesh cannot use', 'correct the object, or leave it: the mesh does without it'),
  MESH103: entry('error', 'object given twice', 'remove one of the two'),
  MESH104: entry('error', 'custom resource definitions are missing', 'meshctl install --crds | kubectl apply -f -'),
  MESH111: entry(
    'error',
    'invalid mesh configuration',
    'correct the key "mesh" of the ConfigMap; components keep the last good one',
  ),
  MESH112: entry(
    'warning',
    'mesh configuration that nobody reads',
    'move it to the ConfigMap "mesh", key "mesh", of the root namespace',
  ),
  MESH113: entry('error', 'ports of the proxy collide', 'give the proxy ports that nothing else of the sidecar uses'),
  MESH114: entry(
    'error',
    'invalid injection configuration',
    'correct the key "config" of the ConfigMap; the injector keeps the last good one',
  ),
  MESH115: entry(
    'error',
    'mixs that nobody can reach',
    'correct the name, create the service, or take the key out of the mesh configuration',
  ),

  MESH201: entry('error', 'policies conflict', 'delete one of the two, or merge them: the older one is in force'),
  MESH202: entry('warning', 'policy targets a service that does not exist', 'correct the name, or create the service'),
  MESH203: entry('warning', 'policy targets a port that does not exist', 'name a port of the service'),
  MESH204: entry('warning', 'policy matches nothing', 'correct what it is meant to match, or delete it'),
  MESH205: entry('error', 'policy is not enforced', 'inject the pods: nothing checks calls to a pod without a sidecar'),
  MESH206: entry(
    'error',
    'tokens cannot be checked on this port',
    'name the port http-..., http2-... or grpc-..., or set appProtocol',
  ),
  MESH207: entry('error', 'every request is refused', 'list an origin, or set principalBinding: USE_PEER'),
  MESH208: entry(
    'warning',
    'trigger rule does not do what it says',
    'write rules on the path alone, and the same for all origins',
  ),
  MESH209: entry('info', 'unusual name of a namespace-wide policy', 'name it "default", as everybody looks for it there'),
  MESH210: entry('warning', 'policy on a port that is not proxied', 'protect UDP ports otherwise: no proxy sees them'),

  MESH301: entry('warning', 'questionable issuer', 'write the issuer exactly as the tokens have it in "iss"'),
  MESH302: entry('warning', 'keys come over plain HTTP', 'use https: whoever is on the way can exchange the keys'),
  MESH303: entry(
    'error',
    'keys come from a service that does not exist',
    'correct jwksUri: without keys every request is refused',
  ),
  MESH304: entry('error', 'inline keys verify nothing', 'give public keys that sign: RSA of 2048 bits or more, EC, or Ed25519'),
  MESH305: entry(
    'error',
    'private key in a policy',
    'remove the private members (d, p, q, ...), and replace the key: it is known now',
  ),
  MESH306: entry('error', 'keys cannot be fetched', 'make jwksUri answer with a JSON Web Key Set within 5 s'),

  MESH401: entry(
    'warning',
    'port without a protocol',
    'prefix the name with its protocol (http-, grpc-, tcp-, ...), or set appProtocol',
  ),
  MESH402: entry('warning', 'service without pods', 'correct the selector, or start the pods'),
  MESH403: entry('warning', 'target port that no pod has', 'name a port of the containers'),
  MESH404: entry(
    'warning',
    'unknown appProtocol',
    'set one of http, http2, grpc, https, tls, tcp, mongo, redis, mysql, kubernetes.io/h2c or /ws',
  ),
  MESH405: entry('warning', 'services disagree about a port', 'give the port the same protocol in all services'),

  MESH501: entry('error', 'certificate has expired', 'replace it, or let mesh_ca do so: see the logs of mesh_ca'),
  MESH502: entry('warning', 'certificate expires soon', 'replace it in time, or look why mesh_ca does not: see its logs'),
  MESH503: entry('error', 'certificate cannot be read', 'put PEM certificates there'),
  MESH504: entry('error', 'certificate is not of a trusted root', 'delete the secret: mesh_ca writes it anew'),
  MESH505: entry(
    'error',
    'namespace without the root certificate',
    'look at the logs of mesh_ca, which publishes it: new pods cannot start',
  ),
  MESH506: entry('error', 'namespace with another root certificate', 'delete the ConfigMap: mesh_ca publishes it anew'),
  MESH507: entry(
    'warning',
    'certificate of another trust domain',
    'delete the secret: mesh_ca writes it anew in the trust domain of the mesh',
  ),

  MESH601: entry('error', 'webhook is missing', 'apply the manifests of: meshctl install'),
  MESH602: entry('error', 'webhook calls a service that does not exist', 'apply the manifests of: meshctl install'),
  MESH603: entry('error', 'webhook has nobody to answer', 'look why the pods behind its service are not ready'),
  MESH604: entry(
    'error',
    'webhook has no usable CA bundle',
    'look at the logs of the component behind its service, which keeps it right',
  ),
  MESH605: entry(
    'error',
    'CA bundle does not match the certificate',
    'restart the component behind its service, which writes the bundle that its certificate leads to',
  ),
  MESH606: entry(
    'warning',
    'failures of the webhook are ignored',
    'set failurePolicy: Fail, and restart the pods that have started without a sidecar',
  ),
  MESH607: entry('error', 'webhook does not select labelled namespaces', 'set the namespaceSelector to mesh-injection=enabled'),

  MESH701: entry('warning', 'pod without its sidecar', 'restart it: kubectl rollout restart of what it belongs to'),
  MESH702: entry('warning', 'sidecar of an older configuration', 'restart it: kubectl rollout restart of what it belongs to'),
  MESH703: entry('warning', 'namespace label is misspelt', 'label it mesh-injection=enabled'),
  MESH704: entry('info', 'pod cannot have a sidecar', 'take hostNetwork away, or mind that no policy holds for it'),

  MESH801: entry(
    'error',
    'invalid configuration of mixs',
    'correct what the message names; until then mixs goes by what the object said before, or does without it',
  ),
  MESH802: entry(
    'warning',
    'configuration of mixs that names what there is not',
    'correct the name, or create what it names; the object comes into force with it',
  ),
  MESH803: entry('info', 'handler or instance that no rule uses', 'name it in a rule, or delete it'),
  MESH804: entry('warning', 'role or charge without a binding', 'name it in a binding, or delete it'),
  MESH805: entry(
    'info',
    'quota that nothing charges',
    'write a QuotaSpec and a QuotaSpecBinding, or mind that only who asks for the quota by its name is limited',
  ),
  MESH806: entry('warning', 'charge for a service that does not exist', 'correct the name, or create the service'),
  MESH807: entry(
    'warning',
    'rule for a namespace without services',
    'correct the namespace; rules for all services are in the namespace that mixs has in --configDefaultNamespace',
  ),
} as const satisfies Readonly<Record<string, Entry>>;

export type FindingCode = keyof typeof CATALOGUE;
