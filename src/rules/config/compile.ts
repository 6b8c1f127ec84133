import type { Parsed, Problem } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import { vocabularyWith } from '../attribute/standard-vocabulary.ts';
import { expressionCompiler } from '../expression/compile.ts';
import type { CompileExpression } from '../expression/types.ts';
import { Permissions } from '../rbac/permissions.ts';
import { parseServiceRole, type ServiceRole } from '../rbac/service-role.ts';
import { parseServiceRoleBinding, type ServiceRoleBinding } from '../rbac/service-role-binding.ts';
import type { CompiledInstance } from '../template/template.ts';
import { type Attempt, attemptOf, idOfObject } from './attempt.ts';
import { manifestAttributes } from './attribute-manifest.ts';
import { adapterOf, configureHandler } from './compile-handler.ts';
import { generalInstance, namedInstance } from './compile-instance.ts';
import { compileRule, type RuleParts, sentInstances } from './compile-rule.ts';
import type { CompiledRule, Configuration, ConfiguredHandler, ObjectProblem } from './configuration.ts';
import { parseRule, type RuleSpec } from './parse-rule.ts';
import { type CompiledQuotaBinding, type CompiledQuotaSpec, QuotaCharges } from './quota-charges.ts';
import { compileQuotaBinding, compileQuotaSpec, type QuotaSpecParts } from './quota-spec.ts';
import { idOf } from './reference.ts';

/**
 * Compiles all objects of configuration (of the kinds of ruleKinds; others are left alone). An object that is wrong, or refers to one that
 * is not there, is reported, and what it said in `previous` stays in force; one that never was good is left out.
 */
export function compileConfiguration(objects: readonly KubeObject[], previous?: Configuration): Configuration {
  return new Compilation(objects, previous).run();
}

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
  const problem: Problem = { path: 'spec.roleRef.name', message: `there is no ${id} in force`, dangling: true };
  return { ok: false, problems: [problem] };
}

/** Ids of the quota instances that rules send to a handler. */
function allocatedQuotas(rules: ReadonlyMap<string, CompiledRule>): readonly string[] {
  const sent = [...rules.values()].flatMap(({ actions }) => actions.flatMap(({ instances }) => instances));
  return [...new Set(sent.filter(({ template }) => template === 'quota').map(({ name }) => name))].sort();
}
