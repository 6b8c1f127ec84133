import { PatternIndex } from './pattern-index.ts';
import type { AccessRule, ServiceRole } from './service-role.ts';
import type { ServiceRoleBinding, Subject } from './service-role-binding.ts';
import { fits, type TextPattern } from './text-pattern.ts';

/** Who wants to do what, as texts. What is absent fits no pattern that asks for it. */
export interface Access {
  readonly user: string | undefined;
  readonly groups: readonly string[];
  readonly subjectProperty: (name: string) => string | undefined;
  readonly namespace: string;
  readonly service: string;
  readonly method: string | undefined;
  /** Without query and fragment. */
  readonly path: string | undefined;
  readonly actionProperty: (key: string) => string | undefined;
}

/** By what an access is allowed: names of objects in the action's namespace. */
export interface Permit {
  readonly role: string;
  readonly binding: string;
}

interface Grant {
  readonly role: string;
  readonly rule: AccessRule;
  readonly bindings: readonly ServiceRoleBinding[];
}

/** All that roles and bindings allow; what they do not is refused. By namespace and service, so that the roles of others cost nothing. */
export class Permissions {
  readonly #byNamespace = new Map<string, PatternIndex<Grant>>();

  /** A binding whose role is not among these allows nothing. */
  constructor(roles: Iterable<ServiceRole>, bindings: Iterable<ServiceRoleBinding>) {
    const bound = Map.groupBy(bindings, ({ namespace, role }) => keyOf(namespace, role));
    for (const { namespace, name, rules } of roles) {
      const own = bound.get(keyOf(namespace, name));
      if (own === undefined) continue;
      const index = this.#byNamespace.get(namespace) ?? new PatternIndex<Grant>();
      this.#byNamespace.set(namespace, index);
      for (const rule of rules) for (const service of rule.services) index.add(service, { role: name, rule, bindings: own });
    }
  }

  /** The first role and binding that allow it, or `undefined`. */
  permitOf(access: Access): Permit | undefined {
    for (const { role, rule, bindings } of this.#byNamespace.get(access.namespace)?.fitting(access.service) ?? []) {
      if (!allows(rule, access)) continue;
      const binding = bindings.find(({ subjects }) => subjects.some((subject) => isMeant(subject, access)));
      if (binding !== undefined) return { role, binding: binding.name };
    }
    return undefined;
  }
}

/** A namespace's name has no slash. */
const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

function allows({ paths, methods, constraints }: AccessRule, { path, method, actionProperty }: Access): boolean {
  return (
    isAnyOrFits(methods, method) &&
    isAnyOrFits(paths, path) &&
    constraints.every(({ key, values }) => fitsOne(values, actionProperty(key)))
  );
}

/** Connections have neither path nor method: rules for any are for them too. */
function isAnyOrFits(patterns: readonly TextPattern[] | undefined, value: string | undefined): boolean {
  return patterns === undefined || patterns.some(({ kind }) => kind === 'any') || fitsOne(patterns, value);
}

function fitsOne(patterns: readonly TextPattern[], value: string | undefined): boolean {
  return value !== undefined && patterns.some((pattern) => fits(pattern, value));
}

function isMeant({ user, groups, properties }: Subject, access: Access): boolean {
  return (
    isAnyOrFits(user === undefined ? undefined : [user], access.user) &&
    (groups.length === 0 || access.groups.some((group) => fitsOne(groups, group))) &&
    properties.every(([name, pattern]) => fitsOne([pattern], access.subjectProperty(name)))
  );
}
