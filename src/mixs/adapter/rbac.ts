import { RPC_CODES } from '../../lib/rpc-code.ts';
import type { RbacParams } from '../../rules/adapter/rbac.ts';
import type { TypedValue } from '../../rules/attribute/value.ts';
import type { Access } from '../../rules/rbac/permissions.ts';
import type { Instances } from '../../rules/template/instances.ts';
import type { AdapterEnvironment, CheckResult, Handler } from './adapter.ts';
import { textOf } from './value-text.ts';

/** The words that users of peers look for. */
const REFUSAL = 'RBAC: permission denied';
const ENTRY = /^(.+)\[([^[\]]+)\]$/;

/** Decides by the roles and bindings that are in force when a request comes. */
export function openRbac(params: RbacParams, { handler, logger, permissions }: AdapterEnvironment): Handler {
  const { cacheDuration, mode } = params;
  const decided = (code: number): CheckResult => ({
    status: { code, message: code === RPC_CODES.OK ? '' : REFUSAL },
    validMs: cacheDuration,
    validUses: Number.POSITIVE_INFINITY,
  });
  const refused = (access: object, reason: string): CheckResult => {
    if (mode === 'PERMISSIVE') {
      logger.info('roles do not allow a request, which passes: the handler is permissive', { handler, reason, ...access });
      return decided(RPC_CODES.OK);
    }
    logger.debug('roles do not allow a request', { handler, reason, ...access });
    return decided(RPC_CODES.PERMISSION_DENIED);
  };
  return {
    check: (instance) => {
      if (instance.template !== 'authorization') return refused({}, `there is nothing to decide on in ${instance.template}`);
      const access = accessOf(instance.values);
      const { namespace, service, method, path, user, groups } = access;
      const told = { namespace, service, method, path, user, groups: groups.join() };
      if (namespace === '' || service === '') return refused(told, 'it is not known which service of which namespace is called');
      const permit = permissions().permitOf(access);
      if (permit === undefined) return refused(told, 'no role of the namespace that is bound to the caller allows it');
      logger.debug('a role allows a request', { handler, ...permit, ...told });
      return decided(RPC_CODES.OK);
    },
    close: async () => {},
  };
}

function accessOf({ subject, action }: Instances['authorization']): Access {
  const { user, groups = '' } = subject;
  const { namespace = '', service = '', method, path } = action;
  return {
    user: present(user),
    groups: groups.split(',').flatMap((group) => group.trim() || []),
    subjectProperty: (name) => propertyOf(subject.properties, name),
    namespace,
    service,
    method: present(method),
    // What a caller writes behind the path must not make it end as a role wants it to.
    path: present(path?.replace(/[?#].*$/s, '')),
    actionProperty: (key) => propertyOf(action.properties, key),
  };
}

/** Instances have empty texts for what requests do not have: `source.namespace | ""`. */
const present = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** A property as text; `labels[version]` is an entry of one that is a map. */
function propertyOf(properties: Readonly<Record<string, TypedValue>>, key: string): string | undefined {
  const whole = ownOf(properties, key);
  if (whole !== undefined) return whole.type === 'STRING_MAP' ? undefined : present(textOf(whole));
  const [, name, entry] = ENTRY.exec(key) ?? [];
  if (name === undefined || entry === undefined) return undefined;
  const map = ownOf(properties, name);
  return map?.type === 'STRING_MAP' ? present(map.value.get(entry)) : undefined;
}

const ownOf = (properties: Readonly<Record<string, TypedValue>>, name: string): TypedValue | undefined =>
  Object.hasOwn(properties, name) ? properties[name] : undefined;
