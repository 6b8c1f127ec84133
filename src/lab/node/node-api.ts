/** What a kubelet and a scheduler ask of an API server (https://kubernetes.io/docs/reference/kubernetes-api/). */
import type { KubernetesClient } from '../../io/kubernetes/client.ts';
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { describeObject, type KubeObject } from '../../model/object.ts';
import { isRecord } from '../kubelet/fields.ts';
import type { TokenSubject } from '../kubelet/token.ts';

const MERGE_PATCH = 'application/merge-patch+json';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const NODES = '/api/v1/nodes';

type Json = Readonly<Record<string, unknown>>;

export interface Token {
  readonly token: string;
  readonly expires: Date;
}

/** Throws what KubernetesClient throws; says nothing where an object is gone that was to be changed or removed. */
export class NodeApi {
  readonly #client: KubernetesClient;

  constructor(client: KubernetesClient) {
    this.#client = client;
  }

  /** Says which node runs a pod, unless that has been said already. */
  async bind(pod: KubeObject, node: string): Promise<void> {
    const { name, namespace, uid } = pod.metadata;
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, namespace, uid },
      target: { apiVersion: 'v1', kind: 'Node', name: node },
    };
    const what = `bind ${describeObject(pod)}`;
    await this.#client.request({ method: 'POST', path: `${podPath(pod)}/binding`, what, body: binding }).catch(unlessGone);
  }

  /** Replaces the fields of a pod's status that are given. */
  async reportPod(pod: KubeObject, status: Json): Promise<void> {
    const body = { metadata: { uid: pod.metadata.uid }, status };
    const what = `report the status of ${describeObject(pod)}`;
    await this.#patch(`${podPath(pod)}/status`, what, body).catch(unlessGone);
  }

  /** Removes a pod that nothing runs of any more. */
  async removePod(pod: KubeObject): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      preconditions: { uid: pod.metadata.uid },
    };
    const what = `remove ${describeObject(pod)}`;
    await this.#client.request({ method: 'DELETE', path: podPath(pod), what, body }).catch(unlessGone);
  }

  /** The pods that were bound to a node. */
  async podsOf(node: string): Promise<readonly KubeObject[]> {
    const query = { fieldSelector: `spec.nodeName=${node}` };
    const list = await this.#client.request({
      method: 'GET',
      path: '/api/v1/pods',
      query,
      what: `list the pods of node ${node}`,
    });
    const items = isRecord(list) && Array.isArray(list['items']) ? list['items'] : [];
    return items.map((item) => ({ ...(item as KubeObject), apiVersion: 'v1', kind: 'Pod' }));
  }

  /** A token for a pod's service account (TokenRequest); an empty audience means the API server itself. */
  async requestToken(
    subject: Omit<TokenSubject, 'serviceAccount'>,
    account: string,
    audience: string,
    lifetime: Duration,
  ): Promise<Token> {
    const { namespace, pod } = subject;
    const answer = await this.#client.request({
      method: 'POST',
      path: `/api/v1/namespaces/${segment(namespace)}/serviceaccounts/${segment(account)}/token`,
      what: `request a token for ServiceAccount ${namespace}/${account}`,
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: {
          audiences: audience === '' ? [] : [audience],
          expirationSeconds: Math.floor(lifetime / 1_000),
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', ...pod },
        },
      },
    });
    const status = isRecord(answer) && isRecord(answer['status']) ? answer['status'] : {};
    const { token, expirationTimestamp } = status;
    if (typeof token === 'string' && typeof expirationTimestamp === 'string')
      return { token, expires: new Date(expirationTimestamp) };
    throw new MeshError('invalid', `the API server gave no token for ServiceAccount ${namespace}/${account}`);
  }

  /** Whether somebody may do something with what a node serves (`nodes/proxy`), as the cluster's own authorization has it. */
  async mayProxy(
    node: string,
    verb: string,
    { user, groups }: { readonly user: string; readonly groups: readonly string[] },
  ): Promise<boolean> {
    const answer = await this.#client.request({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      what: `ask what user ${user} may do`,
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: { user, groups, resourceAttributes: { verb, resource: 'nodes', subresource: 'proxy', name: node } },
      },
    });
    const status = isRecord(answer) && isRecord(answer['status']) ? answer['status'] : {};
    return status['allowed'] === true && status['denied'] !== true;
  }

  /** The Node object; undefined when there is none. */
  async node(name: string): Promise<KubeObject | undefined> {
    const what = `get Node ${name}`;
    const node = await this.#client.request({ method: 'GET', path: `${NODES}/${segment(name)}`, what }).catch(unlessMissing);
    return node as KubeObject | undefined;
  }

  async createNode(node: KubeObject): Promise<KubeObject> {
    return (await this.#client.request({
      method: 'POST',
      path: NODES,
      what: `create ${describeObject(node)}`,
      body: node,
    })) as KubeObject;
  }

  async patchNode(name: string, metadata: Json): Promise<void> {
    await this.#patch(`${NODES}/${segment(name)}`, `change Node ${name}`, { metadata });
  }

  async reportNode(name: string, status: Json): Promise<void> {
    await this.#patch(`${NODES}/${segment(name)}/status`, `report the status of Node ${name}`, { status });
  }

  /** Renews the lease by which a node shows that it is alive. */
  async renewLease(node: KubeObject, lifetime: Duration, now: Date): Promise<void> {
    const { name, uid } = node.metadata;
    const what = `renew Lease kube-node-lease/${name}`;
    const spec = {
      holderIdentity: name,
      leaseDurationSeconds: Math.floor(lifetime / 1_000),
      renewTime: now.toISOString().replace('Z', '000Z'),
    };
    const renewed = await this.#patch(`${LEASES}/${segment(name)}`, what, { spec }).catch(unlessMissing);
    if (renewed !== undefined) return;
    const metadata = { name, namespace: 'kube-node-lease', ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    await this.#client.request({ method: 'POST', path: LEASES, what, body });
  }

  async removeNode(name: string): Promise<void> {
    const what = `remove Node ${name}`;
    await this.#client.request({ method: 'DELETE', path: `${NODES}/${segment(name)}`, what }).catch(unlessMissing);
  }

  #patch(path: string, what: string, body: Json): Promise<unknown> {
    return this.#client.request({ method: 'PATCH', path, what, body, contentType: MERGE_PATCH });
  }
}

function podPath({ metadata: { name, namespace = 'default' } }: KubeObject): string {
  return `/api/v1/namespaces/${segment(namespace)}/pods/${segment(name)}`;
}

/** Names of objects hold nothing that leads elsewhere, but are the API server's word alone. */
function segment(name: string): string {
  return encodeURIComponent(name);
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof MeshError) || error.code !== 'not_found') throw error;
  return undefined;
}

/** Gone, or another one of that name, or bound or changed by somebody else: what is followed will tell. */
function unlessGone(error: unknown): undefined {
  if (!(error instanceof MeshError) || (error.code !== 'not_found' && error.code !== 'conflict')) throw error;
  return undefined;
}
