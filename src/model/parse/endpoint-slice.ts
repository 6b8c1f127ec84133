import type { Parsed, Problem } from '../../lib/errors.ts';
import type { EndpointCondition, EndpointSlice, SliceEndpoint, SlicePort } from '../endpoint-slice.ts';
import type { KubeObject } from '../object.ts';
import { Fields } from './fields.ts';

const SERVICE_LABEL = 'kubernetes.io/service-name';

/** Parses a discovery.k8s.io/v1 EndpointSlice. Slices of host names (addressType FQDN) are refused. */
export function parseEndpointSlice(object: KubeObject): Parsed<EndpointSlice> {
  const problems: Problem[] = [];
  const root = new Fields(object, '', problems);
  const metadata = root.object('metadata');
  const namespace = metadata.text('namespace') ?? 'default';
  const name = metadata.requiredText('name');
  const serviceName = metadata.textMap('labels')[SERVICE_LABEL];
  if (serviceName === undefined) metadata.refuse('labels', `lacks ${SERVICE_LABEL}, the name of the service`);
  if (root.text('addressType') === 'FQDN') root.refuse('addressType', 'FQDN is not supported, list IPv4 or IPv6 addresses');
  const slice: EndpointSlice = {
    namespace,
    name,
    serviceName: serviceName ?? '',
    ports: root
      .objects('ports')
      .map(parsePort)
      .filter((port) => port !== undefined),
    endpoints: root.objects('endpoints').flatMap((endpoint) => parseEndpoint(endpoint, namespace)),
  };
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: slice };
}

/** `undefined` for ports the proxy does not handle: other transports, and the nil port that means "all". */
function parsePort(port: Fields): SlicePort | undefined {
  const number = port.port('port');
  if (number === undefined || (port.text('protocol') ?? 'TCP') !== 'TCP') return undefined;
  return { name: port.text('name') ?? '', number };
}

/** All addresses of one endpoint are the same thing; the API says to use the first. */
function parseEndpoint(endpoint: Fields, namespace: string): readonly SliceEndpoint[] {
  if (!endpoint.has('addresses')) endpoint.refuse('addresses', 'is required');
  const address = endpoint.addresses('addresses', endpoint.texts('addresses'))[0];
  if (address === undefined) return [];
  const target = endpoint.object('targetRef');
  const isPod = target.text('kind') === 'Pod' && target.text('name') !== undefined;
  const node = endpoint.text('nodeName');
  const zone = endpoint.text('zone');
  return [
    {
      address,
      condition: conditionOf(endpoint.object('conditions')),
      pod: isPod ? `${target.text('namespace') ?? namespace}/${target.requiredText('name')}` : undefined,
      ...(node === undefined ? {} : { node }),
      ...(zone === undefined ? {} : { zone }),
    },
  ];
}

/** https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#conditions: what is not said is taken for the best. */
function conditionOf(conditions: Fields): EndpointCondition {
  const ready = conditions.boolean('ready') ?? true;
  const serving = conditions.boolean('serving') ?? ready;
  const terminating = conditions.boolean('terminating') ?? false;
  if (ready) return 'ready';
  return serving && terminating ? 'draining' : 'unready';
}
