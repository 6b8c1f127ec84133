import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { formatProblem, type Parsed } from '../../src/lib/errors.ts';
import { namesFor } from '../../src/lib/names.ts';
import type { AuthnPolicy } from '../../src/model/authn-policy.ts';
import { jwksKey } from '../../src/model/jwks.ts';
import type { KubeObject } from '../../src/model/object.ts';
import { parseEndpointSlice } from '../../src/model/parse/endpoint-slice.ts';
import { parseMeshConfig } from '../../src/model/parse/mesh-config.ts';
import { parseMeshPolicy } from '../../src/model/parse/mesh-policy.ts';
import { parseNode } from '../../src/model/parse/node.ts';
import { parsePolicy } from '../../src/model/parse/policy.ts';
import { parseService } from '../../src/model/parse/service.ts';
import { parseWorkload } from '../../src/model/parse/workload.ts';
import { readYaml } from '../../src/model/parse/yaml.ts';
import { nextSnapshot, type Snapshot, type SnapshotInputs } from '../../src/model/snapshot.ts';
import { createTranslator, type Translator } from '../../src/xds/translate.ts';

const NAMES = namesFor('mesh.io');

function required<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join('\n'));
  return parsed.value;
}

/** Reads Kubernetes manifests; a ConfigMap `mesh` holds the mesh configuration, one named `jwks` key sets by their URI. */
export function snapshotOfManifests(text: string): Snapshot {
  const read = readYaml(text);
  if (!read.ok) throw new Error(formatProblem(read.problem));
  return nextSnapshot(undefined, inputsOf(read.value.values.filter(isObject)));
}

export function snapshotOfFile(path: string): Snapshot {
  return snapshotOfManifests(readFileSync(path, 'utf8'));
}

const isObject = (value: unknown): value is KubeObject => typeof value === 'object' && value !== null;

function inputsOf(objects: readonly KubeObject[]): SnapshotInputs {
  const ofKind = (kind: string) => objects.filter((object) => object.kind === kind);
  const configMap = (name: string) =>
    (ofKind('ConfigMap').find((object) => object.metadata.name === name)?.['data'] ?? {}) as Readonly<Record<string, string>>;
  const policies: AuthnPolicy[] = [
    ...ofKind('Policy').map((object) => required(parsePolicy(object, NAMES))),
    ...ofKind('MeshPolicy').map((object) => required(parseMeshPolicy(object, NAMES))),
  ];
  return {
    mesh: required(parseMeshConfig(configMap('mesh')['mesh'] ?? '')),
    domain: 'cluster.local',
    services: ofKind('Service').map((object) => required(parseService(object, { domain: 'cluster.local' }))),
    endpointSlices: ofKind('EndpointSlice').map((object) => required(parseEndpointSlice(object))),
    nodes: ofKind('Node').map((object) => required(parseNode(object))),
    workloads: ofKind('Pod').map((object) => required(parseWorkload(object, NAMES))),
    policies,
    jwks: new Map(
      Object.entries(configMap('jwks')).map(([uri, jwks]) => [jwksKey({ type: 'uri', uri: `https://${uri}` }), jwks]),
    ),
  };
}

export function testTranslator(): Translator {
  return createTranslator({ hash: (bytes) => createHash('sha1').update(bytes).digest('base64url') });
}
