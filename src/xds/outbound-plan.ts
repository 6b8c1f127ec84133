import type { AddressFamily } from '../model/address.ts';
import { familyOf } from '../model/address.ts';
import { sameElements } from '../model/identity.ts';
import { isHttp, isTls } from '../model/protocol.ts';
import { describeService, isHeadless, type Service, type ServicePort } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { distinctPorts } from './cluster-stage.ts';
import { readyEndpoints } from './endpoint.ts';
import { outboundCluster } from './names.ts';
import { type AddressListener, listenerName } from './outbound-listener.ts';
import { serverNamesOf, type TlsService } from './outbound-tls.ts';

/** One HTTP port of a service with a virtual address, reached by name. */
export interface HttpService {
  readonly service: Service;
  /** Virtual addresses that no other service claimed before. */
  readonly addresses: readonly string[];
}

export interface FamilyListener extends AddressListener {
  readonly family: AddressFamily;
}

/** What proxies listen for, before any of it is built. */
export interface OutboundPlan {
  /** By port number; services sorted by host name. */
  readonly http: ReadonlyMap<number, readonly HttpService[]>;
  /** By port number, none of which HTTP has; no two services with one server name. */
  readonly tls: ReadonlyMap<number, readonly TlsService[]>;
  /** Namespaces that have HTTP services: there, short names mean something. */
  readonly httpNamespaces: ReadonlySet<string>;
  /** No two of one name. */
  readonly addresses: readonly FamilyListener[];
  /** Services that cannot be had as they were meant. */
  readonly problems: readonly OutboundProblem[];
}

export interface OutboundProblem {
  readonly service: Service;
  readonly message: string;
}

/** Sorts the services of a snapshot into those reached by name and those reached by address. */
export function planOutbound(snapshot: Snapshot): OutboundPlan {
  const http = new Map<number, HttpService[]>();
  const external = new Map<number, Service[]>();
  const listeners = new Map<string, FamilyListener>();
  const problems: OutboundProblem[] = [];
  const owners = new Map<string, Service>();
  const claim = (listener: AddressListener): void => {
    const family = familyOf(listener.address);
    const name = listenerName(listener.address, listener.port);
    if (family !== undefined && !listeners.has(name)) listeners.set(name, { ...listener, family });
  };
  for (const service of snapshot.services) {
    const addresses = service.addresses.filter((address) => {
      const owner = owners.get(address) ?? service;
      owners.set(address, owner);
      if (owner !== service) problems.push({ service, message: sharedAddress(service, address, owner) });
      return owner === service;
    });
    const alias = snapshot.servicesByHostname.get(service.externalName ?? '');
    if (alias !== undefined) problems.push({ service, message: plaintextAlias(alias) });
    for (const port of distinctPorts(service)) {
      if (service.externalName !== undefined && !isHttp(port.protocol)) {
        if (isTls(port.protocol)) append(external, port.number, service);
        else problems.push({ service, message: nameless(port) });
      } else if (isHeadless(service)) headlessListeners(snapshot, service, port).forEach(claim);
      else if (isHttp(port.protocol)) append(http, port.number, { service, addresses });
      else addresses.map((address) => addressListener(service, port, address)).forEach(claim);
    }
  }
  const httpNamespaces = new Set([...http.values()].flat().map(({ service }) => service.namespace));
  const tls = new Map<number, readonly TlsService[]>();
  for (const [port, services] of external) {
    if (http.has(port)) problems.push(...services.map((service) => ({ service, message: portOfHttp(port) })));
    else tls.set(port, distinctNames(services));
  }
  return { http, tls, httpNamespaces, addresses: [...listeners.values()], problems };
}

function append<T>(groups: Map<number, T[]>, port: number, item: T): void {
  const group = groups.get(port);
  if (group === undefined) groups.set(port, [item]);
  else group.push(item);
}

/** Several services may stand for one host: its name leads to the first. */
function distinctNames(services: readonly Service[]): readonly TlsService[] {
  const known = new Set<string>();
  return services.map((service) => {
    const serverNames = serverNamesOf(service).filter((name) => !known.has(name));
    for (const name of serverNames) known.add(name);
    return { service, serverNames };
  });
}

/** Plans again only when a service changed, or an endpoint of one whose endpoints are reached by address. */
export function createOutboundPlanner(): (snapshot: Snapshot) => OutboundPlan {
  let last: { readonly made: readonly unknown[]; readonly plan: OutboundPlan } | undefined;
  return (snapshot) => {
    const headless = snapshot.services.filter(isHeadless);
    const made = [snapshot.services, ...headless.map((service) => snapshot.endpoints.get(service.hostname))];
    if (last === undefined || !sameElements(last.made, made)) last = { made, plan: planOutbound(snapshot) };
    return last.plan;
  };
}

const sharedAddress = (service: Service, address: string, owner: Service): string =>
  `${describeService(service)} has the cluster IP ${address} of ${describeService(owner)}, which keeps it; give it one of its own`;

const plaintextAlias = (alias: Service): string =>
  `names a service of the mesh, ${describeService(alias)}, and is reached in plaintext by whatever address DNS has; call it by its own name`;

const portOfHttp = (port: number): string =>
  `port ${port} speaks TLS to an external name, but other services speak HTTP on this port number, and one listener cannot tell both`;

const nameless = ({ number, protocol }: ServicePort): string =>
  `port ${number} speaks ${protocol}, in which nothing tells an external name from any other host; give the port the name of HTTP or TLS, or the service ` +
  'a cluster IP and an EndpointSlice with the addresses';

function addressListener(service: Service, port: ServicePort, address: string): AddressListener {
  const cluster = outboundCluster(service, port.number);
  return { address, port: port.number, http: isHttp(port.protocol), cluster, pinned: false };
}

/** Callers of a headless service connect to the addresses of its endpoints, at the endpoints' own port. */
function headlessListeners(snapshot: Snapshot, service: Service, port: ServicePort): readonly AddressListener[] {
  const endpoints = readyEndpoints(service, port, snapshot.endpoints.get(service.hostname) ?? []);
  return [...endpoints.values()].map(({ endpoint, port: number }) => ({
    ...addressListener(service, port, endpoint.address),
    port: number,
    pinned: true,
  }));
}
