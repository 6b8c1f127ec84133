import type { Parsed, Problem } from '../../lib/errors.ts';
import type { Node } from '../locality.ts';
import type { KubeObject } from '../object.ts';
import { Fields } from './fields.ts';

/** https://kubernetes.io/docs/reference/labels-annotations-taints/#topologykubernetesiozone, and what they were called before. */
const REGION = ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'] as const;
const ZONE = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'] as const;

/** Parses a Kubernetes v1 Node. */
export function parseNode(object: KubeObject): Parsed<Node> {
  const problems: Problem[] = [];
  const metadata = new Fields(object, '', problems).object('metadata');
  const labels = metadata.textMap('labels');
  const first = (keys: readonly string[]): string => keys.map((key) => labels[key]).find((value) => value !== undefined) ?? '';
  const node: Node = { name: metadata.requiredText('name'), region: first(REGION), zone: first(ZONE) };
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: node };
}
