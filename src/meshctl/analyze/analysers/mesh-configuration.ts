import { formatProblem } from '../../../lib/errors.ts';
import { DEFAULT_MESH_CONFIG, type MeshConfig } from '../../../model/mesh-config.ts';
import { MESH_CONFIG_MAP } from '../../../model/parse/validate.ts';
import { mixsProblems } from '../../../xds/mixs-problems.ts';
import { type Finding, type Subject, subjectOf } from '../finding.ts';
import { dataOf, type MeshState } from '../mesh-state.ts';

/** Ports of the sidecar that cannot be chosen, and whose they are. */
const FIXED_PORTS: Readonly<Record<number, string>> = {
  15000: "the proxy's administration",
  15020: "the agent's status port",
  15090: "the proxy's statistics",
};

/** MESH111, MESH112, MESH113, MESH115: the mesh configuration is wrong, names what is not there, or is where nobody reads it. */
export function meshConfiguration(state: MeshState): readonly Finding[] {
  const { unusable, snapshot, objects, rootNamespace } = state;
  const own: Subject = { kind: 'ConfigMap', namespace: rootNamespace, name: MESH_CONFIG_MAP.name };
  const invalid = unusable
    .filter(({ object }) => object.kind === 'ConfigMap')
    .map(({ object, problem }): Finding => {
      const path = `data.${MESH_CONFIG_MAP.key}`;
      return { code: 'MESH111', subject: subjectOf(object), path, message: `key "mesh": ${formatProblem(problem)}` };
    });
  const unread = objects.configMap.flatMap((map): readonly Finding[] => {
    const { name, namespace } = map.metadata;
    if (name !== MESH_CONFIG_MAP.name) return [];
    const hasKey = dataOf(map)[MESH_CONFIG_MAP.key] !== undefined;
    const subject = subjectOf(map);
    if (namespace === rootNamespace) {
      const message = `has no key "${MESH_CONFIG_MAP.key}", so the default mesh configuration is in force`;
      return hasKey ? [] : [{ code: 'MESH112', subject, message }];
    }
    const message = `is the mesh configuration by its name, but the control plane reads the one of ${rootNamespace}`;
    return hasKey ? [{ code: 'MESH112', subject, message }] : [];
  });
  const unreachable = (state.knows('service') ? mixsProblems(snapshot) : []).map(
    ({ path, message }): Finding => ({ code: 'MESH115', subject: own, message: `${path}: ${message}` }),
  );
  return [...invalid, ...unread, ...portCollisions(snapshot.mesh, own), ...otherRoot(snapshot.mesh, own), ...unreachable];
}

function portCollisions({ proxyListenPort, proxyInboundListenPort }: MeshConfig, subject: Subject): readonly Finding[] {
  const ports = { proxyListenPort, proxyInboundListenPort };
  const findings = Object.entries(ports).flatMap(([field, port]): readonly Finding[] => {
    const owner = FIXED_PORTS[port];
    return owner === undefined ? [] : [{ code: 'MESH113', subject, message: `${field} ${port} is ${owner}` }];
  });
  if (proxyListenPort !== proxyInboundListenPort) return findings;
  const message = `proxyListenPort and proxyInboundListenPort are both ${proxyListenPort}`;
  return [...findings, { code: 'MESH113', subject, message }];
}

/** The default says nothing: a control plane elsewhere has it too, unless it was told. */
function otherRoot({ rootNamespace }: MeshConfig, subject: Subject): readonly Finding[] {
  const own = subject.namespace ?? '';
  if (rootNamespace === own || rootNamespace === DEFAULT_MESH_CONFIG.rootNamespace) return [];
  const message = `rootNamespace is ${rootNamespace}, but this configuration is read in ${own}`;
  return [{ code: 'MESH112', subject, message, action: `set rootNamespace: ${own}, or leave it out` }];
}
