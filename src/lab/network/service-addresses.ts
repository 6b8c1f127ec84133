import type { KubeObject } from '../../model/object.ts';
import { SERVICE_NAME_LABEL } from '../controllers/endpoint-slices.ts';
import type { ServiceView } from '../controllers/service-view.ts';
import { Fields } from '../kubelet/fields.ts';
import type { NamedAddress } from './hosts.ts';
import type { Endpoint, ServiceAddress, ServiceAddressPort } from './proxy-rules.ts';

interface SliceView {
  readonly key: string;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
  /** Of ready endpoints. */
  readonly addresses: readonly string[];
}

/** What the node's service rules say: every service that has an address, with the ready endpoints of its slices. */
export function serviceAddresses(services: readonly ServiceView[], slices: readonly KubeObject[]): readonly ServiceAddress[] {
  const views = slices.map(sliceView);
  return services.flatMap((service) => {
    if (!hasAddress(service)) return [];
    const own = views.filter(({ key }) => key === `${service.namespace}/${service.name}`);
    return [{ clusterIp: service.clusterIp, ports: service.ports.flatMap((port) => addressPort(port, own)) }];
  });
}

/** What pods resolve: a service's address, or all ready pods of a headless service. */
export function serviceNames(services: readonly ServiceView[], slices: readonly KubeObject[]): readonly NamedAddress[] {
  const views = slices.map(sliceView);
  return services.flatMap((service) => {
    const { name, namespace } = service;
    if (hasAddress(service)) return [{ name, namespace, addresses: [service.clusterIp] }];
    if (service.clusterIp !== 'None') return [];
    const own = views.filter(({ key }) => key === `${namespace}/${name}`);
    return [{ name, namespace, addresses: [...new Set(own.flatMap(({ addresses }) => addresses))] }];
  });
}

function hasAddress(service: ServiceView): service is ServiceView & { readonly clusterIp: string } {
  return service.clusterIp !== undefined && service.clusterIp !== 'None' && !service.isExternalName;
}

function addressPort(port: ServiceView['ports'][number], slices: readonly SliceView[]): ServiceAddressPort[] {
  if (port.protocol !== 'TCP' && port.protocol !== 'UDP') return [];
  const endpoints = slices.flatMap(({ ports, addresses }): Endpoint[] => {
    const target = ports.find(({ name, protocol }) => name === port.name && protocol === port.protocol);
    return target === undefined ? [] : addresses.map((address) => ({ address, port: target.port }));
  });
  return [{ port: port.port, protocol: port.protocol, endpoints }];
}

function sliceView(slice: KubeObject): SliceView {
  const fields = new Fields(slice, '', []);
  const ready = fields.list('endpoints').filter((endpoint) => endpoint.object('conditions').boolean('ready') ?? true);
  return {
    key: `${slice.metadata.namespace ?? 'default'}/${slice.metadata.labels?.[SERVICE_NAME_LABEL] ?? ''}`,
    ports: fields.list('ports').map((port) => ({
      name: port.string('name') ?? '',
      port: port.integer('port') ?? 0,
      protocol: port.string('protocol') ?? 'TCP',
    })),
    addresses: ready.flatMap((endpoint) => endpoint.strings('addresses') ?? []),
  };
}
