/** One object, server-side applied (https://kubernetes.io/docs/reference/using-api/server-side-apply/). */
import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../io/kubernetes/client.ts';
import { MeshError } from '../../lib/errors.ts';
import { describeRef, type KubeObject, type ObjectRef } from '../../model/object.ts';
import { asFields } from '../../sources/store/kubernetes/received.ts';
import { objectPath } from '../../sources/store/kubernetes/resource-path.ts';
import { installedKind } from './installed-kinds.ts';
import { FIELD_MANAGER } from './ownership.ts';

/** A field that somebody else has set to something else. */
export interface FieldConflict {
  /** `.spec.replicas` */
  readonly field: string;
  /** `kubectl-edit` */
  readonly owner: string;
}

export type Applied =
  | { readonly type: 'created' | 'configured' | 'unchanged' }
  | { readonly type: 'conflict'; readonly conflicts: readonly FieldConflict[] };

export interface ApplyMode {
  /** Fields that others own are taken from them. */
  readonly force: boolean;
  /** Nothing is stored; the server only tells what it would do. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

export function refOfInstalled(object: KubeObject): ObjectRef {
  const kind = installedKind(object);
  const { name, namespace } = object.metadata;
  return namespace === undefined ? { kind, name } : { kind, name, namespace };
}

/** Throws MeshErrors of the client, `invalid` for what the server does not take. */
export async function applyObject(client: KubernetesClient, object: KubeObject, mode: ApplyMode): Promise<Applied> {
  const ref = refOfInstalled(object);
  const before = await getObject(client, ref, mode.signal);
  try {
    const after = await client.request({
      method: 'PATCH',
      path: objectPath(ref),
      query: {
        fieldManager: FIELD_MANAGER,
        fieldValidation: 'Strict',
        force: String(mode.force),
        ...(mode.dryRun ? { dryRun: 'All' } : {}),
      },
      what: `apply ${describeRef(ref)}`,
      contentType: 'application/apply-patch+yaml',
      body: object,
      signal: mode.signal,
    });
    if (before === undefined) return { type: 'created' };
    return { type: isDeepStrictEqual(said(before), said(after)) ? 'unchanged' : 'configured' };
  } catch (error) {
    const conflicts = error instanceof ApiError && error.code === 'conflict' ? conflictsOf(error) : [];
    if (conflicts.length === 0) throw error;
    return { type: 'conflict', conflicts };
  }
}

/** The object as the server has it; undefined: it has none. */
export async function getObject(client: KubernetesClient, ref: ObjectRef, signal: AbortSignal): Promise<unknown> {
  try {
    return await client.request({ method: 'GET', path: objectPath(ref), what: `get ${describeRef(ref)}`, signal });
  } catch (error) {
    if (error instanceof MeshError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** What people say in an object; controllers change the rest all the time. */
function said(object: unknown): unknown {
  const { status: _, metadata, ...rest } = asFields(object);
  const { managedFields: __, resourceVersion: ___, generation: ____, ...kept } = asFields(metadata);
  return { ...rest, metadata: kept };
}

function conflictsOf({ causes }: ApiError): readonly FieldConflict[] {
  return causes
    .filter(({ reason }) => reason === 'FieldManagerConflict')
    .map(({ field, message }) => ({ field, owner: /^conflict with "([^"]*)"/.exec(message)?.[1] ?? message }));
}
