import type { Parsed, Problem } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import { Fields } from '../../model/parse/fields.ts';
import { SCHEMA } from '../adapter/define.ts';
import { readPatterns, requiredPatterns } from './read-patterns.ts';
import type { TextPattern } from './text-pattern.ts';

/** What may be done to services of the role's namespace. */
export interface ServiceRole {
  readonly namespace: string;
  readonly name: string;
  /** One of them is enough. */
  readonly rules: readonly AccessRule[];
}

/** All that it says must hold; of each list, one pattern must fit. */
export interface AccessRule {
  readonly services: readonly TextPattern[];
  /** `undefined`: any. */
  readonly paths: readonly TextPattern[] | undefined;
  /** `undefined`: any. */
  readonly methods: readonly TextPattern[] | undefined;
  readonly constraints: readonly Constraint[];
}

/** That a property of the action fits one of some patterns. */
export interface Constraint {
  /** `version`, or an entry of a map: `labels[version]`. */
  readonly key: string;
  readonly values: readonly TextPattern[];
}

const patterns = (description: string): object => ({ ...SCHEMA.list(SCHEMA.text), description });

/** Of a ServiceRole's `spec`. */
export const SERVICE_ROLE_SCHEMA = SCHEMA.object(
  {
    rules: SCHEMA.list(
      SCHEMA.object(
        {
          services: patterns('of the namespace; text, or with a * at one end'),
          paths: patterns('without query; text, or with a * at one end; default any'),
          methods: patterns('such as GET, or * for any; default any'),
          constraints: SCHEMA.list(
            SCHEMA.object({ key: SCHEMA.text, values: patterns('text, or with a * at one end') }, ['key', 'values']),
          ),
        },
        ['services'],
      ),
    ),
  },
  ['rules'],
);

/** Reads `spec.rules[].{services, paths, methods, constraints[].{key, values}}`. */
export function parseServiceRole({ metadata, spec }: KubeObject): Parsed<ServiceRole> {
  const problems: Problem[] = [];
  const fields = new Fields(spec ?? {}, 'spec', problems);
  fields.noOthers(['rules']);
  const rules = fields.objects('rules').map(readRule);
  if (rules.length === 0) fields.refuse('rules', 'is required: a role without rules allows nothing');
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, value: { namespace: metadata.namespace ?? '', name: metadata.name, rules } };
}

function readRule(rule: Fields): AccessRule {
  rule.noOthers(['services', 'paths', 'methods', 'constraints']);
  const methods = readPatterns(rule, 'methods');
  if (methods?.some(({ kind }) => kind === 'prefix' || kind === 'suffix') === true)
    rule.refuse('methods', 'a method is written out, or * for any');
  return {
    services: requiredPatterns(rule, 'services'),
    paths: readPatterns(rule, 'paths'),
    methods,
    constraints: rule.objects('constraints').map((constraint) => {
      constraint.noOthers(['key', 'values']);
      return { key: constraint.requiredText('key'), values: requiredPatterns(constraint, 'values') };
    }),
  };
}
