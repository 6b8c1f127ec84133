/** The injection webhook as the API server is told of it. */
import type { KubeObject } from '../../../model/object.ts';
import { type Fields, isMapping } from '../../../model/parse/object.ts';
import type { MeshState } from '../mesh-state.ts';

export interface InjectionWebhook {
  readonly object: KubeObject;
  readonly fields: Fields;
  /** JSON path of the webhook in the object. */
  readonly path: string;
  /** Undefined: it is called by URL. */
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number } | undefined;
}

/** Those webhooks that inject sidecars, by their name. */
export function injectionWebhooks({ objects, names }: MeshState): readonly InjectionWebhook[] {
  return objects.mutatingWebhookConfiguration.flatMap((object) => {
    const webhooks = Array.isArray(object.webhooks) ? (object.webhooks as readonly unknown[]) : [];
    return webhooks.flatMap((fields, index): readonly InjectionWebhook[] => {
      if (!isMapping(fields) || fields.name !== names.webhookName) return [];
      return [{ object, fields, path: `webhooks[${index}]`, service: serviceOf(fields) }];
    });
  });
}

export function clientConfigOf({ clientConfig }: Fields): Fields {
  return isMapping(clientConfig) ? clientConfig : {};
}

function serviceOf(fields: Fields): InjectionWebhook['service'] {
  const { service } = clientConfigOf(fields);
  if (!isMapping(service) || typeof service.name !== 'string' || typeof service.namespace !== 'string') return undefined;
  return { namespace: service.namespace, name: service.name, port: typeof service.port === 'number' ? service.port : 443 };
}
