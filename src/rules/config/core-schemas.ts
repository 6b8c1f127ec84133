import { SCHEMA } from '../adapter/define.ts';
import { VALUE_TYPES } from '../attribute/value.ts';
import { SERVICE_ROLE_SCHEMA } from '../rbac/service-role.ts';
import { SERVICE_ROLE_BINDING_SCHEMA } from '../rbac/service-role-binding.ts';
import type { CorePart } from './kinds.ts';

const header = SCHEMA.object(
  { name: SCHEMA.text, values: SCHEMA.list(SCHEMA.text), operation: { type: 'string', enum: ['REPLACE', 'REMOVE', 'APPEND'] } },
  ['name'],
);
/** Checked by who reads it: what it holds depends on a name beside it. */
const anything = { type: 'object' };
const stringMatch = SCHEMA.object({ exact: SCHEMA.text, prefix: SCHEMA.text, regex: SCHEMA.text });

/** JSON schemas of the `spec` of the kinds that are neither adapters nor templates. */
export const CORE_SCHEMAS: Readonly<Record<CorePart, { readonly description: string; readonly schema: object }>> = {
  attributemanifest: {
    description: 'Attributes beside the standard ones, with their types',
    schema: SCHEMA.object({
      name: SCHEMA.text,
      revision: SCHEMA.text,
      attributes: SCHEMA.map(
        SCHEMA.object({ valueType: { type: 'string', enum: VALUE_TYPES }, description: SCHEMA.text }, ['valueType']),
      ),
    }),
  },
  handler: {
    description: 'A handler whose adapter stands in its spec',
    schema: SCHEMA.object({ compiledAdapter: SCHEMA.text, params: anything }, ['compiledAdapter']),
  },
  instance: {
    description: 'An instance whose template stands in its spec',
    schema: SCHEMA.object({ compiledTemplate: SCHEMA.text, params: anything }, ['compiledTemplate']),
  },
  rule: {
    description: 'Which instances of which requests go to which handlers',
    schema: SCHEMA.object({
      match: { ...SCHEMA.text, description: 'an expression of type BOOL; empty: every request' },
      actions: SCHEMA.list(
        SCHEMA.object({ name: SCHEMA.text, handler: SCHEMA.text, instances: SCHEMA.list(SCHEMA.text) }, ['handler', 'instances']),
      ),
      requestHeaderOperations: SCHEMA.list(header),
      responseHeaderOperations: SCHEMA.list(header),
    }),
  },
  QuotaSpec: {
    description: 'What requests charge to which quotas',
    schema: SCHEMA.object({
      rules: SCHEMA.list(
        SCHEMA.object(
          {
            match: SCHEMA.list(SCHEMA.object({ clause: SCHEMA.map(stringMatch) })),
            quotas: SCHEMA.list(SCHEMA.object({ quota: SCHEMA.text, charge: SCHEMA.count }, ['quota'])),
          },
          ['quotas'],
        ),
      ),
    }),
  },
  QuotaSpecBinding: {
    description: 'The services whose requests are charged by a QuotaSpec',
    schema: SCHEMA.object({
      quotaSpecs: SCHEMA.list(SCHEMA.object({ name: SCHEMA.text, namespace: SCHEMA.text }, ['name'])),
      services: SCHEMA.list(
        SCHEMA.object({ name: SCHEMA.text, namespace: SCHEMA.text, domain: SCHEMA.text, service: SCHEMA.text }),
      ),
    }),
  },
  ServiceRole: { description: 'What may be done to services of its namespace', schema: SERVICE_ROLE_SCHEMA },
  ServiceRoleBinding: {
    description: 'Who may do what a ServiceRole of its namespace says',
    schema: SERVICE_ROLE_BINDING_SCHEMA,
  },
};
