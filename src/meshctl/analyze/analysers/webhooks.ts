/** The webhooks of the mesh as the API server is told of them. */
import type { KubeObject } from '../../../model/object.ts';
import { type Fields, isMapping } from '../../../model/parse/object.ts';
import type { MeshState } from '../mesh-state.ts';

export interface MeshWebhook {
  /** `own-injection` is of the control plane's own pods. */
  readonly role: 'injection' | 'own-injection' | 'validation';
  readonly object: KubeObject;
  readonly fields: Fields;
  /** JSON path of the webhook in the object. */
  readonly path: string;
  /** Undefined: it is called by URL. */
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number } | undefined;
}

/** Those webhooks that inject sidecars, and those that validate policies, by their names. */
export function meshWebhooks({ objects, names }: MeshState): readonly MeshWebhook[] {
  const { mutatingWebhookConfiguration: mutating, validatingWebhookConfiguration: validating } = objects;
  return [
    ...mutating.flatMap((object) => webhooksOf(object, 'injection', names.webhookName)),
    ...mutating.flatMap((object) => webhooksOf(object, 'own-injection', names.ownWebhookName)),
    ...validating.flatMap((object) => webhooksOf(object, 'validation', names.validationWebhookName)),
  ];
}

/** What happens while a webhook cannot be called. */
export function consequenceOf({ role, fields }: MeshWebhook): string {
  const isIgnored = fields.failurePolicy === 'Ignore';
  switch (role) {
    case 'injection':
      return isIgnored ? 'new pods start without a sidecar' : 'no pod of a labelled namespace can be created';
    case 'own-injection':
      return isIgnored ? 'new pods of mixs start without a sidecar' : 'no pod of mixs can be created';
    case 'validation':
      return isIgnored ? 'policies are stored unchecked' : 'no policy can be created or changed';
  }
}

export function clientConfigOf({ clientConfig }: Fields): Fields {
  return isMapping(clientConfig) ? clientConfig : {};
}

function webhooksOf(object: KubeObject, role: MeshWebhook['role'], name: string): readonly MeshWebhook[] {
  const webhooks = Array.isArray(object.webhooks) ? (object.webhooks as readonly unknown[]) : [];
  return webhooks.flatMap((fields, index): readonly MeshWebhook[] => {
    if (!isMapping(fields) || fields.name !== name) return [];
    return [{ role, object, fields, path: `webhooks[${index}]`, service: serviceOf(fields) }];
  });
}

function serviceOf(fields: Fields): MeshWebhook['service'] {
  const { service } = clientConfigOf(fields);
  if (!isMapping(service) || typeof service.name !== 'string' || typeof service.namespace !== 'string') return undefined;
  return { namespace: service.namespace, name: service.name, port: typeof service.port === 'number' ? service.port : 443 };
}
