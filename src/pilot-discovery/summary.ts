/** What the debug pages and metrics say about the configuration in force. */
import type { ProxyNode } from '../delivery/ports.ts';
import type { Problem } from '../lib/errors.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { describePolicy } from '../policy/describe.ts';
import { policyProblems } from '../policy/problems.ts';
import { decodeResource } from '../xds/decode.ts';
import type { SnapshotSummary } from './debug.ts';
import type { SnapshotCounts } from './metrics.ts';
import type { Publisher } from './publisher.ts';
import { RESOURCE_TYPE_NAMES, TYPE_URLS } from './resource-types.ts';

export function summariseSnapshot(publisher: Publisher, problems: readonly Problem[]): SnapshotSummary {
  const { snapshot, sequence } = publisher;
  if (snapshot === undefined) return { sequence, objects: {}, problems };
  const policies = snapshot.inputs.policies.map((policy): [string, string] => [describePolicy(policy), policy.resourceVersion]);
  const warnings = policyProblems(snapshot).map(({ policy, message }) => ({ path: describePolicy(policy), message }));
  return { sequence, objects: Object.fromEntries(policies), mesh: snapshot.mesh, problems: [...problems, ...warnings] };
}

export function countsOf(snapshot: Snapshot | undefined): SnapshotCounts {
  if (snapshot === undefined) return { services: 0, servicesWithoutEndpoints: 0, conflicts: 0 };
  const empty = [...snapshot.endpoints.values()].filter(
    (groups) => !groups.some((group) => group.endpoints.some((endpoint) => endpoint.ready)),
  );
  return {
    services: snapshot.services.length,
    servicesWithoutEndpoints: empty.length,
    conflicts: policyProblems(snapshot).length,
  };
}

/** The resources one proxy gets, as JSON, by type. */
export function dumpConfiguration(publisher: Publisher, node: ProxyNode): unknown {
  const types = RESOURCE_TYPE_NAMES.map((name) => {
    const set = publisher.resources(node, TYPE_URLS[name], 'coarse');
    return [
      name,
      { version: set.version, resources: [...set.resources.values()].map((resource) => decodeResource(resource.any)) },
    ];
  });
  return { proxy: node.id, sequence: publisher.sequence, ...Object.fromEntries(types) };
}
