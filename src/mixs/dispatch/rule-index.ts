import type { AttributeBag } from '../../rules/attribute/bag.ts';
import type { CompiledAction, CompiledRule, Configuration } from '../../rules/config/configuration.ts';
import type { CompiledInstance, Variety } from '../../rules/template/template.ts';
import { TEMPLATES } from '../../rules/template/templates.ts';

/** A rule with those of its actions that one variety of requests is dispatched to. */
export interface IndexedRule {
  readonly rule: CompiledRule;
  readonly actions: readonly CompiledAction[];
}

/** Attributes that tell rules for one service from those for others, the most telling first. */
const TELLING = [
  'destination.service',
  'destination.service.host',
  'destination.service.name',
  'destination.uid',
  'destination.name',
  'destination.workload.name',
  'destination.ip',
  'destination.service.namespace',
  'destination.namespace',
  'destination.workload.namespace',
  'source.namespace',
  'source.principal',
  'request.host',
  'request.method',
  'context.protocol',
  'context.reporter.kind',
] as const;

/**
 * The rules of one variety, so that a request meets only those that may apply to it: the mesh-wide ones and those of its destination's
 * namespace, and of these the ones that require another value of some attribute are not even looked at.
 */
export class RuleIndex {
  readonly #byNamespace = new Map<string, NamespaceIndex>();
  readonly #defaultNamespace: string;

  constructor(configuration: Configuration, variety: Variety, defaultNamespace: string) {
    this.#defaultNamespace = defaultNamespace;
    const byNamespace = Map.groupBy(indexedRules(configuration, variety), ({ rule }) => rule.namespace);
    for (const [namespace, rules] of byNamespace) this.#byNamespace.set(namespace, new NamespaceIndex(rules));
  }

  get isEmpty(): boolean {
    return this.#byNamespace.size === 0;
  }

  /** Calls `visit` with every rule whose match is true. */
  visit(bag: AttributeBag, visit: (rule: IndexedRule) => void): void {
    if (this.isEmpty) return;
    this.#byNamespace.get(this.#defaultNamespace)?.visit(bag, visit);
    const namespace = destinationNamespace(bag);
    if (namespace !== undefined && namespace !== this.#defaultNamespace) this.#byNamespace.get(namespace)?.visit(bag, visit);
  }
}

function indexedRules(configuration: Configuration, variety: Variety): readonly IndexedRule[] {
  const isOfVariety = ({ template }: CompiledInstance): boolean => TEMPLATES[template].variety === variety;
  return [...configuration.rules.values()].flatMap((rule) => {
    const actions = rule.actions.flatMap(({ handler, instances }) => {
      const chosen = instances.filter(isOfVariety);
      return chosen.length === 0 ? [] : [{ handler, instances: chosen }];
    });
    const hasHeaders = variety === 'check' && rule.requestHeaders.length + rule.responseHeaders.length > 0;
    return actions.length === 0 && !hasHeaders ? [] : [{ rule, actions }];
  });
}

/** The namespace of who is called, as far as attributes say. */
export function destinationNamespace(bag: AttributeBag): string | undefined {
  const namespace = bag.get('destination.namespace') ?? bag.get('destination.service.namespace');
  if (typeof namespace === 'string' && namespace !== '') return namespace;
  const service = bag.get('destination.service');
  if (typeof service !== 'string') return undefined;
  const begin = service.indexOf('.') + 1;
  if (begin === 0) return undefined;
  const end = service.indexOf('.', begin);
  return end === -1 ? service.slice(begin) : service.slice(begin, end);
}

class NamespaceIndex {
  readonly #always: IndexedRule[] = [];
  readonly #byAttribute: readonly { readonly attribute: string; readonly byValue: ReadonlyMap<string, readonly IndexedRule[]> }[];

  constructor(rules: readonly IndexedRule[]) {
    const byAttribute = new Map<string, Map<string, IndexedRule[]>>();
    for (const rule of rules) {
      const requires = rule.rule.match?.requires;
      const attribute = TELLING.find((name) => requires?.has(name));
      if (attribute === undefined) {
        this.#always.push(rule);
        continue;
      }
      const byValue = byAttribute.get(attribute) ?? new Map<string, IndexedRule[]>();
      byAttribute.set(attribute, byValue);
      for (const value of requires?.get(attribute) ?? []) byValue.set(value, [...(byValue.get(value) ?? []), rule]);
    }
    this.#byAttribute = [...byAttribute].map(([attribute, byValue]) => ({ attribute, byValue }));
  }

  visit(bag: AttributeBag, visit: (rule: IndexedRule) => void): void {
    for (const rule of this.#always) visitMatching(rule, bag, visit);
    for (const { attribute, byValue } of this.#byAttribute) {
      const value = bag.get(attribute);
      const rules = typeof value === 'string' ? byValue.get(value) : undefined;
      for (const rule of rules ?? []) visitMatching(rule, bag, visit);
    }
  }
}

function visitMatching(rule: IndexedRule, bag: AttributeBag, visit: (rule: IndexedRule) => void): void {
  const { match } = rule.rule;
  if (match === undefined || match.evaluate(bag) === true) visit(rule);
}
