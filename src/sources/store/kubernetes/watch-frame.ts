/** What one frame of a watch says (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes). */
import { type ApiError, toApiError } from '../../../io/kubernetes/api-error.ts';
import { MeshError } from '../../../lib/errors.ts';
import type { KubeObject, ResourceKind } from '../../../model/object.ts';
import { asFields, receiveObject, resourceVersionOf } from './received.ts';

export type WatchFrame =
  | { readonly type: 'added' | 'modified' | 'deleted'; readonly object: KubeObject; readonly resourceVersion: string }
  | { readonly type: 'bookmark'; readonly resourceVersion: string }
  | { readonly type: 'error'; readonly error: ApiError };

const CHANGES = { ADDED: 'added', MODIFIED: 'modified', DELETED: 'deleted' } as const;

/** Throws `invalid` for what is no frame. */
export function parseFrame(
  kind: ResourceKind,
  value: unknown,
  place: { readonly what: string; readonly server: string },
): WatchFrame {
  const { type, object } = asFields(value);
  if (type === 'ERROR') {
    const { code } = asFields(object);
    return {
      type: 'error',
      error: toApiError({ ...place, user: '', status: typeof code === 'number' ? code : 500, body: object }),
    };
  }
  const resourceVersion = resourceVersionOf(object);
  if (resourceVersion === undefined)
    throw new MeshError('invalid', 'the API server sent a watch event without a resource version');
  if (type === 'BOOKMARK') return { type: 'bookmark', resourceVersion };
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
    return { type: CHANGES[type], object: receiveObject(kind, object), resourceVersion };
  }
  throw new MeshError('invalid', `the API server sent a watch event of unknown type ${JSON.stringify(type)?.slice(0, 40)}`);
}
