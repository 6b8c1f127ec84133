import { defineTemplate } from './define.ts';
import { dimensions, group, optional, required } from './fields.ts';

export const apikey = defineTemplate({
  name: 'apikey',
  variety: 'check',
  description: 'An API key to be checked, with what it is used for',
  fields: {
    api: optional('STRING'),
    apiVersion: optional('STRING'),
    apiOperation: optional('STRING'),
    apiKey: required('STRING'),
    timestamp: optional('TIMESTAMP'),
  },
  build: (name, values) => ({ name, ...values }),
});

export const authorization = defineTemplate({
  name: 'authorization',
  variety: 'check',
  description: 'Who wants to do what to which service',
  fields: {
    subject: group({ user: optional('STRING'), groups: optional('STRING'), properties: dimensions() }),
    action: group({
      namespace: optional('STRING'),
      service: optional('STRING'),
      method: optional('STRING'),
      path: optional('STRING'),
      properties: dimensions(),
    }),
  },
  build: (name, values) => ({ name, ...values }),
});

export const checknothing = defineTemplate({
  name: 'checknothing',
  variety: 'check',
  description: 'Nothing but the question, for handlers whose answer does not depend on the request',
  fields: {},
  build: (name) => ({ name }),
});

export const listentry = defineTemplate({
  name: 'listentry',
  variety: 'check',
  description: 'A value to be looked for in a list',
  fields: { value: required('STRING') },
  build: (name, values) => ({ name, ...values }),
});

export const quota = defineTemplate({
  name: 'quota',
  variety: 'quota',
  description: 'What is counted, by its dimensions',
  fields: { dimensions: dimensions() },
  build: (name, values) => ({ name, ...values }),
});
