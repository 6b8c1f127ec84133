import type { Parsed, Problem } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import { Fields } from '../../model/parse/fields.ts';
import { SCHEMA } from '../adapter/define.ts';
import { readPattern, readPatterns } from './read-patterns.ts';
import type { TextPattern } from './text-pattern.ts';

/** Who may do what a role of the binding's namespace says. */
export interface ServiceRoleBinding {
  readonly namespace: string;
  readonly name: string;
  /** Of a ServiceRole in the same namespace. */
  readonly role: string;
  /** One of them is enough. */
  readonly subjects: readonly Subject[];
}

/** All that it says must hold. */
export interface Subject {
  /** `undefined`: whoever. `*` too, also who has not proved who they are. */
  readonly user: TextPattern | undefined;
  /** Of the caller's groups one must fit one of these; none: whatever they are in. */
  readonly groups: readonly TextPattern[];
  readonly properties: readonly (readonly [name: string, value: TextPattern])[];
}

const KIND = 'ServiceRole';

/** Of a ServiceRoleBinding's `spec`. */
export const SERVICE_ROLE_BINDING_SCHEMA = SCHEMA.object(
  {
    subjects: SCHEMA.list(
      SCHEMA.object({
        user: { ...SCHEMA.text, description: 'text, or with a * at one end; * is everybody' },
        group: { ...SCHEMA.text, description: 'text, or with a * at one end' },
        groups: { ...SCHEMA.list(SCHEMA.text), description: 'of which one must fit' },
        properties: { ...SCHEMA.map(SCHEMA.text), description: 'of the subject, such as source.namespace; all must fit' },
      }),
    ),
    roleRef: SCHEMA.object({ kind: { type: 'string', enum: [KIND] }, name: SCHEMA.text }, ['kind', 'name']),
  },
  ['subjects', 'roleRef'],
);

/** Reads `spec.{subjects[].{user, group, groups, properties}, roleRef.{kind, name}}`. */
export function parseServiceRoleBinding({ metadata, spec }: KubeObject): Parsed<ServiceRoleBinding> {
  const problems: Problem[] = [];
  const fields = new Fields(spec ?? {}, 'spec', problems);
  fields.noOthers(['subjects', 'roleRef']);
  const subjects = fields.objects('subjects').map(readSubject);
  if (subjects.length === 0) fields.refuse('subjects', 'is required');
  const role = readRoleRef(fields);
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, value: { namespace: metadata.namespace ?? '', name: metadata.name, role, subjects } };
}

function readRoleRef(fields: Fields): string {
  if (!fields.has('roleRef')) {
    fields.refuse('roleRef', 'is required');
    return '';
  }
  const reference = fields.object('roleRef');
  reference.noOthers(['kind', 'name']);
  reference.checkedText('kind', (kind) => (kind === KIND ? undefined : `"${kind}" is not ${KIND}`));
  return reference.requiredText('name');
}

function readSubject(subject: Fields): Subject {
  subject.noOthers(['user', 'group', 'groups', 'properties']);
  const group = readPattern(subject, 'group');
  const groups = readPatterns(subject, 'groups');
  if (group !== undefined && groups !== undefined) subject.refuse('groups', 'stands beside group; one of them is enough');
  const nested = subject.object('properties');
  const properties = Object.keys(subject.textMap('properties')).flatMap((name): Subject['properties'] => {
    const value = readPattern(nested, name);
    return value === undefined ? [] : [[name, value]];
  });
  const user = readPattern(subject, 'user');
  if (user === undefined && group === undefined && groups === undefined && properties.length === 0)
    subject.refuse('user', 'a subject has a user, a group or properties; the user * is everybody');
  return { user, groups: groups ?? (group === undefined ? [] : [group]), properties };
}
