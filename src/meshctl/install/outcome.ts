/** What an installation has done, object by object, for people and for programs. */
import { describeRef, type KubeObject, type ObjectRef } from '../../model/object.ts';
import { printYaml } from '../../model/parse/yaml.ts';
import { typeName } from '../resource-types.ts';
import type { FieldConflict } from './apply-object.ts';

export type Outcome =
  | { readonly type: 'created' | 'configured' | 'unchanged' | 'deleted' }
  /** Left as it is, for a reason. */
  | { readonly type: 'kept'; readonly message: string }
  | { readonly type: 'conflict'; readonly message: string; readonly conflicts: readonly FieldConflict[] }
  | { readonly type: 'failed'; readonly message: string };

export interface ObjectOutcome {
  readonly ref: ObjectRef;
  readonly outcome: Outcome;
}

/** Takes what happens as it happens. */
export interface Report {
  done(ref: ObjectRef, outcome: Outcome): void;
  /** Something that takes time. */
  progress(message: string): void;
}

export function isFailure({ outcome }: ObjectOutcome): boolean {
  return outcome.type === 'conflict' || outcome.type === 'failed';
}

/** One object's line: `deployment.apps/mesh-pilot configured`; undefined where only an error is to be told. */
export function outcomeLine(ref: ObjectRef, outcome: Outcome): string | undefined {
  const name = `${typeName(ref.kind)}/${ref.name}`;
  switch (outcome.type) {
    case 'created':
    case 'configured':
    case 'unchanged':
    case 'deleted':
      return `${name} ${outcome.type}`;
    case 'kept':
      return `${name} kept: ${outcome.message}`;
    case 'conflict':
    case 'failed':
      return undefined;
  }
}

/** Where conflicts are, and with whom. */
export function describeConflicts(ref: ObjectRef, conflicts: readonly FieldConflict[]): string {
  const fields = conflicts.map(({ field, owner }) => `${field} is set by ${owner}`).join(', ');
  return `${describeRef(ref)} is left as it is: ${fields}; give --force-conflicts to take these fields over`;
}

/** The document that `-o json` and `-o yaml` print. */
export function printOutcomes(outcomes: readonly ObjectOutcome[], format: 'yaml' | 'json'): string {
  const objects = outcomes.map(({ ref, outcome: { type, ...rest } }) => ({
    apiVersion: ref.kind.apiVersion,
    kind: ref.kind.kind,
    ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
    name: ref.name,
    result: type,
    ...rest,
  }));
  const document = { succeeded: !outcomes.some(isFailure), objects };
  return format === 'json' ? `${JSON.stringify(document, null, 2)}\n` : printYaml(document);
}

/** Objects as manifests. */
export function printObjects(objects: readonly KubeObject[], format: 'yaml' | 'json'): string {
  switch (format) {
    case 'yaml':
      return objects.map((object) => `---\n${printYaml(object)}`).join('');
    case 'json':
      return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, null, 2)}\n`;
  }
}
