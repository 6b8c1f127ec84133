import type { KubeObject } from '../../../model/object.ts';
import { isMapping } from '../../../model/parse/object.ts';
import { protocolOf } from '../../../model/protocol.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { ORCHESTRATOR_NAMESPACES } from './policies.ts';

/** MESH401, MESH404: ports that the mesh takes for raw TCP because nothing it knows says otherwise. */
export function portNames({ objects }: MeshState): readonly Finding[] {
  return objects.service
    .filter(({ metadata }) => !ORCHESTRATOR_NAMESPACES.includes(metadata.namespace ?? ''))
    .flatMap((service) => portsOf(service).flatMap((port, index) => portFinding(service, port, `spec.ports[${index}]`)));
}

interface RawPort {
  readonly name: string;
  readonly number: unknown;
  readonly transport: string;
  readonly appProtocol: string | undefined;
}

function portsOf({ spec }: KubeObject): readonly RawPort[] {
  if (!isMapping(spec) || spec.type === 'ExternalName' || !Array.isArray(spec.ports)) return [];
  return (spec.ports as readonly unknown[]).filter(isMapping).map((port) => ({
    name: typeof port.name === 'string' ? port.name : '',
    number: port.port,
    transport: typeof port.protocol === 'string' ? port.protocol : 'TCP',
    appProtocol: typeof port.appProtocol === 'string' ? port.appProtocol : undefined,
  }));
}

function portFinding(service: KubeObject, port: RawPort, path: string): readonly Finding[] {
  const { name, number, transport, appProtocol } = port;
  if (protocolOf(port) !== 'tcp' || transport !== 'TCP') return [];
  const subject = subjectOf(service);
  if (appProtocol !== undefined) {
    const message = `port ${number}: appProtocol "${appProtocol}" is not known, so the port is proxied as raw TCP`;
    return appProtocol.toLowerCase() === 'tcp' ? [] : [{ code: 'MESH404', subject, path, message }];
  }
  if (name.toLowerCase().split('-', 1)[0] === 'tcp') return [];
  const called = name === '' ? 'has no name' : `is named "${name}", which begins with no protocol`;
  return [
    { code: 'MESH401', subject, path, message: `port ${number} ${called}, so it is proxied as raw TCP: no tokens, no routes` },
  ];
}
