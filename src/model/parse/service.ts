import type { Parsed, Problem } from '../../lib/errors.ts';
import type { KubeObject } from '../object.ts';
import { protocolOf } from '../protocol.ts';
import type { Service, ServicePort } from '../service.ts';
import { checkDnsLabel, checkDnsSubdomain } from './dns.ts';
import { Fields } from './fields.ts';

/** Parses a Kubernetes v1 Service. `domain` is the DNS suffix of service names, such as `cluster.local`. */
export function parseService(object: KubeObject, options: { readonly domain: string }): Parsed<Service> {
  const problems: Problem[] = [];
  const root = new Fields(object, '', problems);
  const metadata = root.object('metadata');
  const name = metadata.checkedText('name', checkDnsLabel);
  const namespace = metadata.has('namespace') ? metadata.checkedText('namespace', checkDnsLabel) : 'default';
  const spec = root.object('spec');
  const ports = spec.objects('ports').map(parsePort);
  const service: Service = {
    namespace,
    name,
    hostname: `${name}.${namespace}.svc.${options.domain}`,
    ...(spec.text('type') === 'ExternalName' ? parseExternal(spec) : parseOwn(spec)),
    ports: ports.filter((port) => port !== undefined).sort((a, b) => a.number - b.number || (a.name < b.name ? -1 : 1)),
  };
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: service };
}

type Members = Pick<Service, 'addresses' | 'selector' | 'externalName'>;

/** The API ignores whatever else such a service says. A dot at the end is allowed, and means nothing here. */
function parseExternal(spec: Fields): Members {
  const externalName = spec.checkedText('externalName', (name) => checkDnsSubdomain(name.replace(/\.$/, '')));
  return { addresses: [], selector: undefined, externalName: externalName.replace(/\.$/, '') };
}

function parseOwn(spec: Fields): Members {
  const selector = spec.has('selector') ? spec.textMap('selector') : undefined;
  return {
    addresses: parseAddresses(spec),
    selector: selector !== undefined && Object.keys(selector).length > 0 ? selector : undefined,
  };
}

function parseAddresses(spec: Fields): readonly string[] {
  const single = spec.text('clusterIP');
  const all = spec.texts('clusterIPs');
  const given = all.length > 0 ? all : single === undefined ? [] : [single];
  const virtual = given.filter((address) => address !== '' && address !== 'None');
  return spec.addresses(all.length > 0 ? 'clusterIPs' : 'clusterIP', virtual);
}

function parsePort(port: Fields): ServicePort | undefined {
  const name = port.text('name') ?? '';
  const number = port.port('port');
  if (!port.has('port')) port.refuse('port', 'is required');
  const targetPort = port.portOrName('targetPort') ?? number;
  const transport = port.text('protocol') ?? 'TCP';
  if (number === undefined || targetPort === undefined) return undefined;
  return { name, number, targetPort, protocol: protocolOf({ transport, appProtocol: port.text('appProtocol'), name }) };
}
