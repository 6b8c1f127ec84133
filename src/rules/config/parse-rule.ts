import type { Parsed, Problem } from '../../lib/errors.ts';
import { Fields } from '../../model/parse/fields.ts';

export interface RuleSpec {
  /** Empty: every request. */
  readonly match: string;
  readonly actions: readonly { readonly handler: string; readonly instances: readonly string[] }[];
  readonly requestHeaders: readonly HeaderSpec[];
  readonly responseHeaders: readonly HeaderSpec[];
}

export interface HeaderSpec {
  readonly path: string;
  readonly name: string;
  readonly operation: 'REPLACE' | 'REMOVE' | 'APPEND';
  /** Expressions. */
  readonly values: readonly string[];
}

const OPERATIONS = ['REPLACE', 'REMOVE', 'APPEND'] as const;
/** Envoy's external authorization has no removal of response headers: a rule that asks for one could never be carried out. */
const ANSWER_OPERATIONS = ['REPLACE', 'APPEND'] as const;
/** RFC 9110 tokens, and the pseudo headers that may be set. */
const HEADER_NAME = /^:?[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** The structure of a rule's spec; what it refers to is looked up by who has the rest of the configuration. */
export function parseRule(spec: unknown): Parsed<RuleSpec> {
  const problems: Problem[] = [];
  const fields = new Fields(spec ?? {}, 'spec', problems);
  fields.noOthers(['match', 'actions', 'requestHeaderOperations', 'responseHeaderOperations']);
  const actions = fields.objects('actions').map((action) => {
    action.noOthers(['handler', 'instances', 'name']);
    const instances = action.texts('instances');
    if (instances.length === 0) action.refuse('instances', 'an action sends at least one instance to its handler');
    return { handler: action.requiredText('handler'), instances };
  });
  const rule: RuleSpec = {
    match: fields.text('match') ?? '',
    actions,
    requestHeaders: headersOf(fields, 'requestHeaderOperations', OPERATIONS),
    responseHeaders: headersOf(fields, 'responseHeaderOperations', ANSWER_OPERATIONS),
  };
  if (rule.actions.length + rule.requestHeaders.length + rule.responseHeaders.length === 0) {
    fields.refuse('actions', 'the rule does nothing: it has no action and no header operation');
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: rule };
}

function headersOf(fields: Fields, field: string, operations: readonly HeaderSpec['operation'][]): readonly HeaderSpec[] {
  return fields.objects(field).map((header, index) => {
    header.noOthers(['name', 'values', 'operation']);
    const name = header.requiredText('name').toLowerCase();
    if (name !== '' && !HEADER_NAME.test(name)) header.refuse('name', `${JSON.stringify(name)} is no name of a header`);
    const operation = header.oneOf('operation', OPERATIONS) ?? 'REPLACE';
    if (!operations.includes(operation)) {
      header.refuse('operation', `${operation} is not for responses: proxies can be told to add and replace their headers only`);
    }
    const values = header.texts('values');
    if (operation === 'REMOVE' && values.length > 0) header.refuse('values', 'a header that is removed has no values');
    if (operation !== 'REMOVE' && values.length === 0) header.refuse('values', 'is required');
    return { path: `spec.${field}[${index}]`, name, operation, values };
  });
}
