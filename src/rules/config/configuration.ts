import type { Problem } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import type { Vocabulary } from '../attribute/bag.ts';
import type { CompiledExpression } from '../expression/types.ts';
import type { Permissions } from '../rbac/permissions.ts';
import type { ServiceRole } from '../rbac/service-role.ts';
import type { ServiceRoleBinding } from '../rbac/service-role-binding.ts';
import type { CompiledInstance } from '../template/template.ts';
import type { CompiledQuotaBinding, CompiledQuotaSpec, QuotaCharges } from './quota-charges.ts';

/** What mixs does, compiled from objects: immutable, and with nothing left to check when a request comes. */
export interface Configuration {
  readonly vocabulary: Vocabulary;
  readonly instances: ReadonlyMap<string, CompiledInstance>;
  readonly handlers: ReadonlyMap<string, ConfiguredHandler>;
  readonly rules: ReadonlyMap<string, CompiledRule>;
  readonly quotaSpecs: ReadonlyMap<string, CompiledQuotaSpec>;
  readonly quotaBindings: ReadonlyMap<string, CompiledQuotaBinding>;
  /** What requests cost, of all bindings. */
  readonly charges: QuotaCharges;
  readonly serviceRoles: ReadonlyMap<string, ServiceRole>;
  readonly serviceRoleBindings: ReadonlyMap<string, ServiceRoleBinding>;
  /** What roles and bindings allow. */
  readonly permissions: Permissions;
  readonly problems: readonly ObjectProblem[];
}

export interface ConfiguredHandler {
  /** `name.kind.namespace`. */
  readonly id: string;
  readonly adapter: string;
  /** As the adapter's spec parsed them. */
  readonly params: unknown;
  /** Equal for handlers that need not be opened anew. */
  readonly key: string;
}

export interface CompiledRule {
  /** `name.rule.namespace`. */
  readonly id: string;
  readonly namespace: string;
  /** `undefined`: every request. */
  readonly match: CompiledExpression | undefined;
  readonly actions: readonly CompiledAction[];
  readonly requestHeaders: readonly CompiledHeader[];
  readonly responseHeaders: readonly CompiledHeader[];
}

export interface CompiledAction {
  readonly handler: ConfiguredHandler;
  readonly instances: readonly CompiledInstance[];
}

export interface CompiledHeader {
  readonly name: string;
  readonly operation: 'REPLACE' | 'REMOVE' | 'APPEND';
  readonly values: readonly CompiledExpression[];
}

/** A problem of an object, and what holds in its place. */
export interface ObjectProblem extends Problem {
  readonly object: KubeObject;
  /** `last good`: what the object said before still holds. `absent`: it has never been good, and is not in force. */
  readonly inForce: 'last good' | 'absent';
}
