import { RE2JS } from 're2js';
import { MeshError, type Parsed, type Problem } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import { Fields } from '../../model/parse/fields.ts';
import { isNamed } from '../adapter/quota-limits.ts';
import type { AttributeBag } from '../attribute/bag.ts';
import type { CompileExpression } from '../expression/types.ts';
import type { CompiledQuotaBinding, CompiledQuotaSpec, QuotaCharge } from './quota-charges.ts';
import { idOf } from './reference.ts';

const MAX_CHARGE = 1_000_000_000;

export interface QuotaSpecParts {
  readonly compile: CompileExpression;
  /** Ids of the quota instances that rules send to a handler. */
  readonly allocated: readonly string[];
}

/** What requests cost: `rules[].{match[].clause.<attribute>.{exact|prefix|regex}, quotas[].{quota, charge}}`. */
export function compileQuotaSpec(object: KubeObject, parts: QuotaSpecParts): Parsed<CompiledQuotaSpec> {
  const problems: Problem[] = [];
  const fields = new Fields(object['spec'] ?? {}, 'spec', problems);
  fields.noOthers(['rules']);
  const rules = fields.objects('rules').map((rule) => {
    rule.noOthers(['match', 'quotas']);
    return { match: rule.objects('match').map((match) => readMatch(match, parts)), charges: readCharges(rule, parts) };
  });
  if (rules.length === 0) fields.refuse('rules', 'is required: without a rule nothing is charged');
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: { id: idOfObject(object), rules } };
}

function readCharges(rule: Fields, { allocated }: QuotaSpecParts): readonly QuotaCharge[] {
  const charges = rule.objects('quotas').map((entry) => {
    entry.noOthers(['quota', 'charge']);
    const quota = entry.requiredText('quota');
    if (quota !== '' && !allocated.some((id) => isNamed(id, quota))) {
      const known = allocated.length === 0 ? 'none' : allocated.join(', ');
      entry.miss('quota', `no rule allocates a quota "${quota}"; rules allocate ${known}`);
    }
    return { quota, amount: entry.wholeNumber('charge', 1, MAX_CHARGE) ?? 1 };
  });
  if (charges.length === 0) rule.refuse('quotas', 'is required: a rule charges at least one quota');
  return charges;
}

type Clause = (bag: AttributeBag) => boolean;

/** Each attribute is an expression of type STRING, such as `request.headers["x-user"]`. */
function readMatch(match: Fields, { compile }: QuotaSpecParts): readonly Clause[] {
  match.noOthers(['clause']);
  const clause = match.object('clause');
  return match.entries('clause').flatMap(([attribute, condition]): readonly Clause[] => {
    condition.noOthers(['exact', 'prefix', 'regex']);
    const test = readCondition(condition);
    if (test === undefined) {
      clause.refuse(attribute, 'must have one of exact, prefix, regex');
      return [];
    }
    try {
      const { evaluate } = compile(attribute, 'STRING');
      return [
        (bag) => {
          const value = evaluate(bag);
          return typeof value === 'string' && test(value);
        },
      ];
    } catch (thrown) {
      if (!(thrown instanceof MeshError)) throw thrown;
      clause.refuse(attribute, thrown.message);
      return [];
    }
  });
}

function readCondition(condition: Fields): ((value: string) => boolean) | undefined {
  const [exact, prefix, regex] = [condition.text('exact'), condition.text('prefix'), condition.text('regex')];
  if ([exact, prefix, regex].filter((text) => text !== undefined).length !== 1) return undefined;
  if (exact !== undefined) return (value) => value === exact;
  if (prefix !== undefined) return (value) => value.startsWith(prefix);
  try {
    const pattern = RE2JS.compile(regex ?? '');
    return (value) => pattern.matches(value);
  } catch (thrown) {
    condition.refuse('regex', `"${regex}" is no regular expression: ${MeshError.from(thrown).message}`);
    return () => false;
  }
}

/** Which services pay: `services[].{name, namespace}` (`name: "*"` for all), `quotaSpecs[].{name, namespace}`. */
export function compileQuotaBinding(
  object: KubeObject,
  specs: ReadonlyMap<string, CompiledQuotaSpec>,
): Parsed<CompiledQuotaBinding> {
  const problems: Problem[] = [];
  const own = object.metadata.namespace ?? '';
  const fields = new Fields(object['spec'] ?? {}, 'spec', problems);
  fields.noOthers(['services', 'quotaSpecs']);
  const services = fields.objects('services').map((service) => readService(service, own));
  const named = fields.objects('quotaSpecs').flatMap((reference) => {
    reference.noOthers(['name', 'namespace']);
    const name = reference.requiredText('name');
    const id = idOf(name, 'QuotaSpec', reference.text('namespace') ?? own);
    const spec = specs.get(id);
    if (name !== '' && spec === undefined) reference.miss('name', `there is no ${id} in force`);
    return spec ?? [];
  });
  if (services.length === 0) fields.refuse('services', 'is required');
  if (!fields.has('quotaSpecs')) fields.refuse('quotaSpecs', 'is required');
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: { id: idOfObject(object), services, specs: named } };
}

/** `service: name.namespace...` is the other way to write it. */
function readService(service: Fields, own: string): string {
  service.noOthers(['name', 'namespace', 'service']);
  const full = service.text('service');
  if (full !== undefined) {
    if (service.has('name')) service.refuse('service', 'stands beside name; one of them is enough');
    const [name = '', namespace = own] = full.split('.');
    return name === '*' ? '*' : `${name}.${namespace}`;
  }
  const name = service.requiredText('name');
  return name === '*' ? '*' : `${name}.${service.text('namespace') ?? own}`;
}

const idOfObject = ({ metadata, kind }: KubeObject): string => idOf(metadata.name, kind, metadata.namespace ?? '');
