import { REPORTER_METADATA } from '../../model/reporter.ts';
import type { AttributeMap } from './attribute-map.ts';

/** Adds what discovery lets sidecars say of whom a request is for; `host` is the one that the request names, if it does. */
export function addDestination(attributes: AttributeMap, metadata: ReadonlyMap<string, string>, host: string | undefined): void {
  attributes.text('context.reporter.kind', metadata.get(REPORTER_METADATA.kind));
  attributes.text('destination.namespace', metadata.get(REPORTER_METADATA.namespace));
  const services = (metadata.get(REPORTER_METADATA.services) ?? '').split(',').filter((service) => service !== '');
  addService(attributes, chooseService(services, host));
}

/** Host name, and from it name and namespace, of the service that a request is for. */
export function addService(attributes: AttributeMap, service: string | undefined): void {
  if (service === undefined) return;
  attributes.text('destination.service', service);
  attributes.text('destination.service.host', service);
  attributes.text('api.service', service);
  const [name, namespace] = service.split('.');
  attributes.text('destination.service.name', name);
  attributes.text('destination.service.namespace', namespace);
  if (namespace !== undefined) attributes.text('destination.service.uid', `istio://${namespace}/services/${name}`);
}

/** The service that an outbound cluster of the mesh is of, `outbound|8000||httpbin.foo.svc.cluster.local`; nothing for any other cluster. */
export function addServiceOfCluster(attributes: AttributeMap, cluster: string): void {
  const [direction, , , host = ''] = cluster.split('|');
  if (direction !== 'outbound' || host === '') return;
  addService(attributes, host);
  attributes.text('destination.namespace', host.split('.')[1]);
}

/** Of several services that lead to one port the one that the request names, fully or in part, or else the first. */
function chooseService(services: readonly string[], host: string | undefined): string | undefined {
  const named = host?.replace(/:\d+$/, '').replace(/\.$/, '').toLowerCase() ?? '';
  const fits = (service: string): boolean => service === named || service.startsWith(`${named}.`);
  return (named === '' ? undefined : services.find(fits)) ?? services[0];
}
