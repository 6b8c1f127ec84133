import { REQUEST_TEMPLATES } from '../template/templates.ts';
import { defineAdapter, SCHEMA } from './define.ts';

/** Takes everything and does nothing. */
export const noop = defineAdapter<Readonly<Record<string, never>>>({
  name: 'noop',
  description: 'Takes everything and does nothing, to try rules out',
  templates: REQUEST_TEMPLATES,
  schema: SCHEMA.object({}),
  read: (fields) => {
    fields.noOthers([]);
    return {};
  },
});
