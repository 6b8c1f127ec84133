import { defineAdapter, SCHEMA } from './define.ts';

export type KubernetesenvParams = Readonly<Record<string, never>>;

/** What the store knows of pods. */
export const kubernetesenv = defineAdapter<KubernetesenvParams>({
  name: 'kubernetesenv',
  description: 'Finds out what the store knows of the pods at both ends of a request',
  templates: ['kubernetes'],
  schema: SCHEMA.object({}),
  read: (fields) => {
    fields.noOthers([]);
    return {};
  },
});
