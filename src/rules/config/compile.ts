import { MeshError, type Parsed, type Problem } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import type { AdapterSpec } from '../adapter/adapter-spec.ts';
import { ADAPTERS } from '../adapter/adapters.ts';
import { vocabularyWith } from '../attribute/standard-vocabulary.ts';
import { expressionCompiler } from '../expression/compile.ts';
import type { CompiledExpression, CompileExpression } from '../expression/types.ts';
import { Permissions } from '../rbac/permissions.ts';
import { parseServiceRole, type ServiceRole } from '../rbac/service-role.ts';
import { parseServiceRoleBinding, type ServiceRoleBinding } from '../rbac/service-role-binding.ts';
import type { CompiledInstance } from '../template/template.ts';
import { isTemplateName, TEMPLATES } from '../template/templates.ts';
import { manifestAttributes } from './attribute-manifest.ts';
import type {
  CompiledAction,
  CompiledHeader,
  CompiledRule,
  Configuration,
  ConfiguredHandler,
  ObjectProblem,
  RuleProblem,
} from './configuration.ts';
import { type HeaderSpec, parseRule, type RuleSpec } from './parse-rule.ts';
import { type CompiledQuotaBinding, type CompiledQuotaSpec, QuotaCharges } from './quota-charges.ts';
import { compileQuotaBinding, compileQuotaSpec, type QuotaSpecParts } from './quota-spec.ts';
import { idOf, resolveReference } from './reference.ts';

/**
 * Compiles all objects of configuration (of the kinds of ruleKinds; others are left alone). An object that is wrong, or refers to one that
 * is not there, is reported, and what it said in `previous` stays in force; one that never was good is left out.
 */
export function compileConfiguration(objects: readonly KubeObject[], previous?: Configuration): Configuration {
  return new Compilation(objects, previous).run();
}

/** A value, or what is wrong; paths begin at the object. */
type Attempt<T> = { readonly value: T } | { readonly problems: readonly RuleProblem[] };

class Compilation {
  readonly #objects: readonly KubeObject[];
  readonly #previous: Configuration | undefined;
  readonly #problems: ObjectProblem[] = [];

  constructor(objects: readonly KubeObject[], previous: Configuration | undefined) {
    this.#objects = objects;
    this.#previous = previous;
  }

  run(): Configuration {
    const { attributes, problems } = manifestAttributes(this.#ofKind('attributemanifest'));
    this.#problems.push(...problems);
    const vocabulary = vocabularyWith(attributes);
    const compile = expressionCompiler(vocabulary);
    const instances = this.#instances(compile);
    const specs = this.#ruleSpecs();
    const handlers = this.#handlers(sentInstances(specs, instances));
    const rules = this.#rules(specs, { compile, instances, handlers });
    const quotaSpecs = this.#quotaSpecs({ compile, allocated: allocatedQuotas(rules) });
    const quotaBindings = this.#quotaBindings(quotaSpecs);
    const charges = new QuotaCharges(quotaBindings.values());
    // No last good ones: what was allowed once is no permission when what is written now cannot be read.
    const serviceRoles = this.#each('ServiceRole', undefined, parseServiceRole);
    const serviceRoleBindings = this.#each('ServiceRoleBinding', undefined, (object) => bindTo(serviceRoles, object));
    const permissions = new Permissions(serviceRoles.values(), serviceRoleBindings.values());
    return {
      vocabulary,
      instances,
      handlers,
      rules,
      quotaSpecs,
      quotaBindings,
      charges,
      serviceRoles,
      serviceRoleBindings,
      permissions,
      problems: this.#problems,
    };
  }

  #ofKind(kind: string): readonly KubeObject[] {
    return this.#objects.filter((object) => object.kind === kind);
  }

  /** What an attempt gives, or the last good, or nothing. */
  #settle<T>(object: KubeObject, attempt: Attempt<T>, lastGood: T | undefined): T | undefined {
    if ('value' in attempt) return attempt.value;
    const inForce = lastGood === undefined ? 'absent' : 'last good';
    this.#problems.push(...attempt.problems.map((problem) => ({ ...problem, object, inForce }) as const));
    return lastGood;
  }

  #instances(compile: CompileExpression): ReadonlyMap<string, CompiledInstance> {
    const instances = new Map<string, CompiledInstance>();
    for (const object of this.#objects) {
      const attempt = object.kind === 'instance' ? generalInstance(object, compile) : namedInstance(object, compile);
      if (attempt === undefined) continue;
      const id = idOfObject(object);
      const instance = this.#settle<CompiledInstance>(object, attempt, this.#previous?.instances.get(id));
      if (instance !== undefined) instances.set(id, instance);
    }
    return instances;
  }

  #ruleSpecs(): ReadonlyMap<KubeObject, Attempt<RuleSpec>> {
    return new Map(
      this.#ofKind('rule').map((object) => {
        const parsed = parseRule(object['spec']);
        return [object, parsed.ok ? { value: parsed.value } : { problems: parsed.problems }];
      }),
    );
  }

  #handlers(sent: ReadonlyMap<string, readonly CompiledInstance[]>): ReadonlyMap<string, ConfiguredHandler> {
    const handlers = new Map<string, ConfiguredHandler>();
    for (const object of this.#objects) {
      const chosen = adapterOf(object);
      if (chosen === undefined) continue;
      const id = idOfObject(object);
      const attempt = 'problems' in chosen ? chosen : configureHandler(id, chosen, sent.get(id) ?? []);
      const handler = this.#settle<ConfiguredHandler>(object, attempt, this.#previous?.handlers.get(id));
      if (handler !== undefined) handlers.set(id, handler);
    }
    return handlers;
  }

  #rules(specs: ReadonlyMap<KubeObject, Attempt<RuleSpec>>, parts: RuleParts): ReadonlyMap<string, CompiledRule> {
    const rules = new Map<string, CompiledRule>();
    for (const [object, spec] of specs) {
      const id = idOfObject(object);
      const attempt = 'value' in spec ? compileRule(object, spec.value, parts) : spec;
      const rule = this.#settle<CompiledRule>(object, attempt, this.#previous?.rules.get(id));
      if (rule !== undefined) rules.set(id, rule);
    }
    return rules;
  }

  #quotaSpecs(parts: QuotaSpecParts): ReadonlyMap<string, CompiledQuotaSpec> {
    return this.#each('QuotaSpec', this.#previous?.quotaSpecs, (object) => compileQuotaSpec(object, parts));
  }

  #quotaBindings(specs: ReadonlyMap<string, CompiledQuotaSpec>): ReadonlyMap<string, CompiledQuotaBinding> {
    return this.#each('QuotaSpecBinding', this.#previous?.quotaBindings, (object) => compileQuotaBinding(object, specs));
  }

  #each<T>(
    kind: string,
    previous: ReadonlyMap<string, T> | undefined,
    compile: (object: KubeObject) => Parsed<T>,
  ): ReadonlyMap<string, T> {
    const compiled = new Map<string, T>();
    for (const object of this.#ofKind(kind)) {
      const id = idOfObject(object);
      const value = this.#settle<T>(object, attemptOf(compile(object)), previous?.get(id));
      if (value !== undefined) compiled.set(id, value);
    }
    return compiled;
  }
}

/** A binding whose role is there. */
function bindTo(roles: ReadonlyMap<string, ServiceRole>, object: KubeObject): Parsed<ServiceRoleBinding> {
  const parsed = parseServiceRoleBinding(object);
  if (!parsed.ok) return parsed;
  const id = idOf(parsed.value.role, 'ServiceRole', parsed.value.namespace);
  if (roles.has(id)) return parsed;
  const problem: RuleProblem = { path: 'spec.roleRef.name', message: `there is no ${id} in force`, dangling: true };
  return { ok: false, problems: [problem] };
}

const attemptOf = <T>(parsed: Parsed<T>): Attempt<T> => (parsed.ok ? { value: parsed.value } : { problems: parsed.problems });

/** Ids of the quota instances that rules send to a handler. */
function allocatedQuotas(rules: ReadonlyMap<string, CompiledRule>): readonly string[] {
  const sent = [...rules.values()].flatMap(({ actions }) => actions.flatMap(({ instances }) => instances));
  return [...new Set(sent.filter(({ template }) => template === 'quota').map(({ name }) => name))].sort();
}

const namespaceOf = (object: KubeObject): string => object.metadata.namespace ?? '';
const idOfObject = (object: KubeObject): string => idOf(object.metadata.name, object.kind, namespaceOf(object));

function namedInstance(object: KubeObject, compile: CompileExpression): Attempt<CompiledInstance> | undefined {
  if (!isTemplateName(object.kind)) return undefined;
  return compileInstance(object.kind, object, object['spec'] ?? {}, 'spec', compile);
}

/** The kind `instance` names its template. */
function generalInstance(object: KubeObject, compile: CompileExpression): Attempt<CompiledInstance> {
  const spec = recordOf(object['spec']);
  const template = spec['compiledTemplate'];
  if (typeof template === 'string' && isTemplateName(template))
    return compileInstance(template, object, spec['params'] ?? {}, 'spec.params', compile);
  return { problems: [{ path: 'spec.compiledTemplate', message: `must be one of ${Object.keys(TEMPLATES).join(', ')}` }] };
}

function compileInstance(
  template: keyof typeof TEMPLATES,
  object: KubeObject,
  spec: unknown,
  path: string,
  compile: CompileExpression,
): Attempt<CompiledInstance> {
  const compiled = TEMPLATES[template].compile(idOfObject(object), spec, compile);
  return compiled.ok ? { value: compiled.value } : { problems: below(path, compiled.problems) };
}

interface ChosenAdapter {
  readonly adapter: AdapterSpec;
  readonly spec: unknown;
  readonly path: string;
}

function adapterOf(object: KubeObject): ChosenAdapter | { readonly problems: readonly Problem[] } | undefined {
  const ofKind = ADAPTERS.get(object.kind);
  if (ofKind !== undefined) return { adapter: ofKind, spec: object['spec'] ?? {}, path: 'spec' };
  if (object.kind !== 'handler') return undefined;
  const spec = recordOf(object['spec']);
  const named = spec['compiledAdapter'];
  const adapter = typeof named === 'string' ? ADAPTERS.get(named) : undefined;
  if (adapter !== undefined) return { adapter, spec: spec['params'] ?? {}, path: 'spec.params' };
  return { problems: [{ path: 'spec.compiledAdapter', message: `must be one of ${[...ADAPTERS.keys()].join(', ')}` }] };
}

function configureHandler(
  id: string,
  { adapter, spec, path }: ChosenAdapter,
  sent: readonly CompiledInstance[],
): Attempt<ConfiguredHandler> {
  const parsed = adapter.parse(spec, sent);
  if (!parsed.ok) return { problems: below(path, parsed.problems) };
  const types = sent.map(({ name, template, types: of }) => [name, template, of]).sort();
  return { value: { id, adapter: adapter.name, params: parsed.value, key: JSON.stringify([id, adapter.name, spec, types]) } };
}

/** The instances that rules send to each handler, for its adapter to check. */
function sentInstances(
  specs: ReadonlyMap<KubeObject, Attempt<RuleSpec>>,
  instances: ReadonlyMap<string, CompiledInstance>,
): ReadonlyMap<string, readonly CompiledInstance[]> {
  const sent = new Map<string, Set<CompiledInstance>>();
  for (const [object, spec] of specs) {
    if (!('value' in spec)) continue;
    for (const action of spec.value.actions) {
      const handler = handlerId(action.handler, object);
      const known = action.instances.flatMap((text) => instances.get(instanceId(text, object)) ?? []);
      sent.set(handler, new Set([...(sent.get(handler) ?? []), ...known]));
    }
  }
  return new Map([...sent].map(([handler, set]) => [handler, [...set]]));
}

const handlerId = (text: string, rule: KubeObject): string =>
  resolveReference(text, {
    namespace: namespaceOf(rule),
    general: 'handler',
    isKind: (kind) => kind === 'handler' || ADAPTERS.has(kind),
  });

const instanceId = (text: string, rule: KubeObject): string =>
  resolveReference(text, {
    namespace: namespaceOf(rule),
    general: 'instance',
    isKind: (kind) => kind === 'instance' || isTemplateName(kind),
  });

interface RuleParts {
  readonly compile: CompileExpression;
  readonly instances: ReadonlyMap<string, CompiledInstance>;
  readonly handlers: ReadonlyMap<string, ConfiguredHandler>;
}

function compileRule(object: KubeObject, spec: RuleSpec, parts: RuleParts): Attempt<CompiledRule> {
  const problems: RuleProblem[] = [];
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
  problems: RuleProblem[],
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

const below = (path: string, problems: readonly Problem[]): readonly Problem[] =>
  problems.map((problem) => ({ ...problem, path: problem.path === '' ? path : `${path}.${problem.path}` }));

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
