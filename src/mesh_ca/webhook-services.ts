/** The services that API servers call as webhooks, by their configurations (admissionregistration.k8s.io/v1). Pure. */
import type { KubeObject } from '../model/object.ts';

export interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** Those that a Mutating- or ValidatingWebhookConfiguration refers to; webhooks with addresses of their own name none. */
export function webhookServices(configuration: KubeObject): readonly ServiceName[] {
  const { webhooks } = configuration;
  if (!Array.isArray(webhooks)) return [];
  return webhooks.flatMap((webhook: unknown): readonly ServiceName[] => {
    const { namespace, name } = fieldsOf(fieldsOf(fieldsOf(webhook)['clientConfig'])['service']);
    return typeof namespace === 'string' && typeof name === 'string' ? [{ namespace, name }] : [];
  });
}

/** What of a pod decides which services it stands behind, and as whom. */
export interface PodIdentity {
  readonly account: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Undefined for a pod that has ended. */
export function podIdentity(pod: KubeObject): PodIdentity | undefined {
  const phase = fieldsOf(pod['status'])['phase'];
  if (phase === 'Succeeded' || phase === 'Failed') return undefined;
  const account = fieldsOf(pod['spec'])['serviceAccountName'];
  return { account: typeof account === 'string' && account !== '' ? account : 'default', labels: pod.metadata.labels ?? {} };
}

/** The labels that a service wants of its pods; undefined where it chooses none by labels. */
export function selectorOf(service: KubeObject): Readonly<Record<string, unknown>> | undefined {
  const selector = fieldsOf(fieldsOf(service['spec'])['selector']);
  return Object.keys(selector).length === 0 ? undefined : selector;
}

/** By account, the DNS names under which API servers call it in a namespace: `service.namespace` and `service.namespace.svc`; sorted. */
export function namesByAccount(
  namespace: string,
  selectors: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
  pods: Iterable<PodIdentity>,
): ReadonlyMap<string, readonly string[]> {
  const services = new Map<string, Set<string>>();
  for (const { account, labels } of pods) {
    for (const [service, selector] of selectors) {
      if (!Object.entries(selector).every(([label, value]) => labels[label] === value)) continue;
      const names = services.get(account) ?? new Set();
      services.set(account, names.add(`${service}.${namespace}`).add(`${service}.${namespace}.svc`));
    }
  }
  return new Map([...services].map(([account, names]) => [account, [...names].sort()]));
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : {};
}
