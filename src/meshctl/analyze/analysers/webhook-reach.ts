import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../../../injection/decision.ts';
import { slicePortFor } from '../../../model/endpoints.ts';
import type { Service, ServicePort } from '../../../model/service.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { findService } from './policies.ts';
import { consequenceOf, type MeshWebhook, meshWebhooks } from './webhooks.ts';

/** MESH601, MESH602, MESH603: the webhook is not there, or calls nobody. */
export function webhookReach(state: MeshState): readonly Finding[] {
  if (!state.isCluster) return [];
  const webhooks = meshWebhooks(state);
  const isMissed = state.knows('mutatingWebhookConfiguration') && !webhooks.some(({ role }) => role === 'injection');
  return [...(isMissed ? missing(state) : []), ...webhooks.flatMap((webhook) => unreachable(state, webhook))];
}

/** Nobody misses a webhook in a cluster whose namespaces do not ask for it. */
function missing({ objects, names }: MeshState): readonly Finding[] {
  const asking = objects.namespace.filter(({ metadata }) => metadata.labels?.[NAMESPACE_LABEL] === NAMESPACE_LABEL_VALUE);
  return asking.map((namespace) => ({
    code: 'MESH601',
    subject: subjectOf(namespace),
    message: `is labelled ${NAMESPACE_LABEL}=${NAMESPACE_LABEL_VALUE}, but there is no webhook ${names.webhookName}: its pods get no sidecar`,
  }));
}

function unreachable(state: MeshState, webhook: MeshWebhook): readonly Finding[] {
  const { object, path, service: target } = webhook;
  if (target === undefined || !state.knows('service')) return [];
  const subject = subjectOf(object);
  const consequence = consequenceOf(webhook);
  const { namespace, name, port: number } = target;
  const where = `${path}.clientConfig.service`;
  const service = findService(state.snapshot, namespace, name);
  const port = service?.ports.find((candidate) => candidate.number === number);
  if (service === undefined || port === undefined) {
    const what = service === undefined ? `service ${name}.${namespace}` : `port ${number} of service ${name}.${namespace}`;
    return [{ code: 'MESH602', subject, path: where, message: `there is no ${what}: ${consequence}` }];
  }
  if (!state.knows('endpointSlice') || readyEndpoints(state, service, port) > 0) return [];
  const message = `service ${name}.${namespace} has no ready endpoint: ${consequence}`;
  return [{ code: 'MESH603', subject, path: where, message }];
}

function readyEndpoints({ snapshot }: MeshState, service: Service, port: ServicePort): number {
  const groups = snapshot.endpoints.get(service.hostname) ?? [];
  return groups
    .filter(({ slice }) => slicePortFor(slice, service, port) !== undefined)
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ ready }) => ready).length;
}
