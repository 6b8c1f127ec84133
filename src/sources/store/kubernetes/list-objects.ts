/** Lists a kind page by page (https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks). */
import { ApiError } from '../../../io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../io/kubernetes/client.ts';
import { type Duration, seconds } from '../../../lib/duration.ts';
import { MeshError } from '../../../lib/errors.ts';
import type { KubeObject, ResourceKind } from '../../../model/object.ts';
import { byNamespaceAndName } from '../object-index.ts';
import { asFields, receiveObject, resourceVersionOf } from './received.ts';
import { collectionPath, resourceName } from './resource-path.ts';

export interface ObjectList {
  /** Sorted by namespace and name. */
  readonly objects: readonly KubeObject[];
  /** What a watch that misses nothing begins at. */
  readonly resourceVersion: string;
}

export interface ListOptions {
  readonly namespace?: string;
  /** Only these, as the API writes it: `app=web`. */
  readonly labelSelector?: string;
  /** Only these, as the API writes it: `metadata.name=web`. */
  readonly fieldSelector?: string;
  readonly signal?: AbortSignal;
}

const PAGE = 500;
const PAGE_DEADLINE: Duration = seconds(60);
/** A list that takes longer than the server remembers begins anew, this often. */
const MAX_STARTS = 3;

interface Page {
  readonly items: readonly unknown[];
  readonly next: string;
  readonly resourceVersion: string | undefined;
}

/** The objects of a kind as of one moment. */
export async function listObjects(client: KubernetesClient, kind: ResourceKind, options: ListOptions): Promise<ObjectList> {
  let objects: KubeObject[] = [];
  const resourceVersion = await listPages(client, kind, options, () => {
    objects = [];
    return (object) => objects.push(object);
  });
  return { objects: objects.sort(byNamespaceAndName), resourceVersion };
}

/**
 * The same, object by object in the order of the API server, a page of them in memory at a time. `begin` is called for every list that is
 * begun, and gives what takes its objects: the objects of an earlier one are of another moment. Gives the version that they are of.
 */
export async function listPages(
  client: KubernetesClient,
  kind: ResourceKind,
  options: ListOptions,
  begin: () => (object: KubeObject) => void,
): Promise<string> {
  for (let start = 1; ; start += 1) {
    try {
      return await listOnce(client, kind, options, begin());
    } catch (error) {
      if (start >= MAX_STARTS || !(error instanceof ApiError && error.isExpired)) throw error;
    }
  }
}

async function listOnce(
  client: KubernetesClient,
  kind: ResourceKind,
  options: ListOptions,
  take: (object: KubeObject) => void,
): Promise<string> {
  let limit = PAGE;
  let next = '';
  let resourceVersion: string | undefined;
  do {
    try {
      const page = await getPage(client, kind, options, { limit, next });
      for (const item of page.items) take(receiveObject(kind, item));
      ({ next } = page);
      resourceVersion = page.resourceVersion;
    } catch (error) {
      // Huge objects: fewer of them at a time.
      if (limit === 1 || !(error instanceof MeshError && error.code === 'resource_exhausted')) throw error;
      limit = Math.ceil(limit / 10);
    }
  } while (next !== '' || resourceVersion === undefined);
  return resourceVersion;
}

async function getPage(
  client: KubernetesClient,
  kind: ResourceKind,
  { namespace, signal, labelSelector, fieldSelector }: ListOptions,
  { limit, next }: { readonly limit: number; readonly next: string },
): Promise<Page> {
  const what = describeList('list', kind, namespace);
  const query = {
    limit: String(limit),
    ...(next === '' ? {} : { continue: next }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
  const call = { method: 'GET', path: collectionPath(kind, namespace), query, what, deadline: PAGE_DEADLINE } as const;
  const answer = asFields(await client.request(signal === undefined ? call : { ...call, signal }));
  const { continue: token } = asFields(answer.metadata);
  const resourceVersion = resourceVersionOf(answer);
  // An empty list of some kinds is null.
  const items = answer.items ?? [];
  if (!Array.isArray(items) || resourceVersion === undefined) {
    throw new MeshError('unavailable', `cannot ${what}: the answer is no list; is this the address of an API server?`);
  }
  return { items, next: typeof token === 'string' ? token : '', resourceVersion };
}

/** `list services in namespace foo`: the words of RBAC. */
export function describeList(verb: 'list' | 'watch', kind: ResourceKind, namespace: string | undefined): string {
  const place = kind.namespaced && namespace !== undefined ? ` in namespace ${namespace}` : '';
  return `${verb} ${resourceName(kind)}${place}`;
}
