import { type Duration, seconds } from '../../lib/duration.ts';
import { defineAdapter, SCHEMA } from './define.ts';

const MODES = ['ENFORCED', 'PERMISSIVE'] as const;
/** Where peers are told to look for roles. */
const STORE_FIELDS = ['config_store_url', 'configStoreUrl'];

export interface RbacParams {
  /** How long a client may remember a decision. */
  readonly cacheDuration: Duration;
  /** `PERMISSIVE`: nothing is refused, and what would be is logged. */
  readonly mode: (typeof MODES)[number];
}

/** Allows what ServiceRoles and ServiceRoleBindings allow. */
export const rbac = defineAdapter<RbacParams>({
  name: 'rbac',
  description: 'Allows what ServiceRoles and their bindings allow, and refuses everything else',
  templates: ['authorization'],
  schema: SCHEMA.object({
    cacheDuration: { ...SCHEMA.duration, description: 'how long clients may remember a decision; default 5s' },
    mode: { type: 'string', enum: MODES, description: 'PERMISSIVE only logs what it would refuse; default ENFORCED' },
    ...Object.fromEntries(
      STORE_FIELDS.map((field) => [field, { ...SCHEMA.text, description: 'refused: roles are in the store' }]),
    ),
  }),
  read: (fields) => {
    fields.noOthers(['cacheDuration', 'mode', ...STORE_FIELDS]);
    for (const field of STORE_FIELDS) {
      if (fields.has(field))
        fields.refuse(field, 'roles are read from the store that this handler is in (--configStoreURL); leave it out');
    }
    return {
      cacheDuration: fields.duration('cacheDuration') ?? seconds(5),
      mode: fields.oneOf('mode', MODES) ?? 'ENFORCED',
    };
  },
});
