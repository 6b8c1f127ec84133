import type { AttributeBag } from '../attribute/bag.ts';

/** What a request costs of one quota. */
export interface QuotaCharge {
  /** Name of a quota instance: `name`, `name.quota` or `name.quota.namespace`. */
  readonly quota: string;
  readonly amount: number;
}

/** A QuotaSpec, compiled. */
export interface CompiledQuotaSpec {
  /** `name.QuotaSpec.namespace`. */
  readonly id: string;
  readonly rules: readonly {
    /** One of them must hold; none: every request. In each, all must hold. */
    readonly match: readonly (readonly ((bag: AttributeBag) => boolean)[])[];
    readonly charges: readonly QuotaCharge[];
  }[];
}

/** A QuotaSpecBinding, compiled: the services whose requests cost what the specs say. */
export interface CompiledQuotaBinding {
  /** `name.QuotaSpecBinding.namespace`. */
  readonly id: string;
  /** `name.namespace`, or `*` for all services. */
  readonly services: readonly string[];
  readonly specs: readonly CompiledQuotaSpec[];
}

/** Tells what requests cost, by the service that they are for. */
export class QuotaCharges {
  readonly #byService = new Map<string, Set<CompiledQuotaSpec>>();

  constructor(bindings: Iterable<CompiledQuotaBinding>) {
    for (const { services, specs } of bindings) {
      for (const service of services) {
        const known = this.#byService.get(service) ?? new Set();
        this.#byService.set(service, known);
        for (const spec of specs) known.add(spec);
      }
    }
  }

  /** Each quota once; what several specs charge of it is added up. */
  chargesFor(bag: AttributeBag): readonly QuotaCharge[] {
    if (this.#byService.size === 0) return [];
    const name = bag.get('destination.service.name');
    const namespace = bag.get('destination.service.namespace');
    const specs = new Set([...(this.#byService.get(`${name}.${namespace}`) ?? []), ...(this.#byService.get('*') ?? [])]);
    const amounts = new Map<string, number>();
    for (const { rules } of specs) {
      for (const { match, charges } of rules) {
        if (match.length > 0 && !match.some((clauses) => clauses.every((holds) => holds(bag)))) continue;
        for (const { quota, amount } of charges) amounts.set(quota, (amounts.get(quota) ?? 0) + amount);
      }
    }
    return [...amounts].map(([quota, amount]) => ({ quota, amount }));
  }
}
