import { defineAdapter, SCHEMA } from './define.ts';

/** Takes everything and does nothing. */
export const noop = defineAdapter<Readonly<Record<string, never>>>({
  name: 'noop',
  description: 'Takes everything and does nothing, to try rules out',
  templates: [
    'apikey',
    'authorization',
    'checknothing',
    'edge',
    'listentry',
    'logentry',
    'metric',
    'quota',
    'reportnothing',
    'tracespan',
  ],
  schema: SCHEMA.object({}),
  read: (fields) => {
    fields.noOthers([]);
    return {};
  },
});
