import { MeshError, type Problem } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import { ADAPTERS } from '../adapter/adapters.ts';
import type { CompiledExpression, CompileExpression } from '../expression/types.ts';
import type { CompiledInstance } from '../template/template.ts';
import { isTemplateName } from '../template/templates.ts';
import { type Attempt, idOfObject, namespaceOf } from './attempt.ts';
import type { CompiledAction, CompiledHeader, CompiledRule, ConfiguredHandler } from './configuration.ts';
import type { HeaderSpec, RuleSpec } from './parse-rule.ts';
import { resolveReference } from './reference.ts';

/** The instances that rules send to each handler, for its adapter to check. */
export function sentInstances(
  specs: ReadonlyMap<KubeObject, Attempt<RuleSpec>>,
  instances: ReadonlyMap<string, CompiledInstance>,
): ReadonlyMap<string, readonly CompiledInstance[]> {
  const sent = new Map<string, Set<CompiledInstance>>();
  for (const [object, spec] of specs) {
    if (!('value' in spec)) continue;
    for (const action of spec.value.actions) {
      const handler = handlerId(action.handler, object);
      const known = action.instances.flatMap((text) => instances.get(instanceId(text, object)) ?? []);
      const all = sent.get(handler) ?? new Set();
      sent.set(handler, all);
      for (const instance of known) all.add(instance);
    }
  }
  return new Map([...sent].map(([handler, set]) => [handler, [...set]]));
}

/** The id of the handler that an action of a rule names. */
export const handlerId = (text: string, rule: KubeObject): string =>
  resolveReference(text, {
    namespace: namespaceOf(rule),
    general: 'handler',
    isKind: (kind) => kind === 'handler' || ADAPTERS.has(kind),
  });

/** The id of an instance that an action of a rule names. */
export const instanceId = (text: string, rule: KubeObject): string =>
  resolveReference(text, {
    namespace: namespaceOf(rule),
    general: 'instance',
    isKind: (kind) => kind === 'instance' || isTemplateName(kind),
  });

/** What rules are made of. */
export interface RuleParts {
  readonly compile: CompileExpression;
  readonly instances: ReadonlyMap<string, CompiledInstance>;
  readonly handlers: ReadonlyMap<string, ConfiguredHandler>;
}

/** All problems of a rule are told, not the first. */
export function compileRule(object: KubeObject, spec: RuleSpec, parts: RuleParts): Attempt<CompiledRule> {
  const problems: Problem[] = [];
  const match = spec.match === '' ? undefined : expression(spec.match, 'BOOL', 'spec.match', parts, problems);
  const actions = spec.actions.flatMap((action, index) =>
    compileAction(object, action, `spec.actions[${index}]`, parts, problems),
  );
  const headers = (list: readonly HeaderSpec[]): readonly CompiledHeader[] =>
    list.map((header) => compileHeader(header, parts, problems));
  const rule: CompiledRule = {
    id: idOfObject(object),
    namespace: namespaceOf(object),
    match,
    actions,
    requestHeaders: headers(spec.requestHeaders),
    responseHeaders: headers(spec.responseHeaders),
  };
  return problems.length > 0 ? { problems } : { value: rule };
}

function compileAction(
  object: KubeObject,
  action: RuleSpec['actions'][number],
  path: string,
  { instances, handlers }: RuleParts,
  problems: Problem[],
): readonly CompiledAction[] {
  const id = handlerId(action.handler, object);
  const handler = handlers.get(id);
  if (handler === undefined)
    problems.push({ path: `${path}.handler`, message: `there is no handler ${id} in force`, dangling: true });
  const sent = action.instances.flatMap((text, index) => {
    const place = `${path}.instances[${index}]`;
    const instance = instances.get(instanceId(text, object));
    if (instance === undefined)
      problems.push({ path: place, message: `there is no instance ${instanceId(text, object)} in force`, dangling: true });
    else if (handler !== undefined && !takes(handler, instance)) {
      problems.push({ path: place, message: `${handler.adapter} takes no ${instance.template}` });
    }
    return instance ?? [];
  });
  return handler === undefined ? [] : [{ handler, instances: sent }];
}

function takes({ adapter, params }: ConfiguredHandler, { template }: CompiledInstance): boolean {
  const spec = ADAPTERS.get(adapter);
  return (spec?.templatesOf?.(params) ?? spec?.templates)?.includes(template) === true;
}

function compileHeader({ path, name, operation, values }: HeaderSpec, parts: RuleParts, problems: Problem[]): CompiledHeader {
  const compiled = values.flatMap((text, index) => expression(text, 'STRING', `${path}.values[${index}]`, parts, problems) ?? []);
  return { name, operation, values: compiled };
}

function expression(
  text: string,
  type: 'BOOL' | 'STRING',
  path: string,
  { compile }: RuleParts,
  problems: Problem[],
): CompiledExpression | undefined {
  try {
    return compile(text, type);
  } catch (thrown) {
    if (!(thrown instanceof MeshError)) throw thrown;
    problems.push({ path, message: thrown.message });
    return undefined;
  }
}
