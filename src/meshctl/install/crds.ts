/** The CustomResourceDefinitions of the mesh, made from the schemas that validate files. */
import type { Names } from '../../lib/names.ts';
import { kindsFor } from '../../model/kinds.ts';
import type { KubeObject, ResourceKind } from '../../model/object.ts';
import { POLICY_SPEC } from '../../model/schema/policy.ts';
import { type StructuralSchema, structuralSchema } from '../../model/schema/structural-schema.ts';
import { ruleDefinitions } from '../../rules/config/crds.ts';

const CONDITION = {
  type: 'object',
  required: ['type', 'status'],
  properties: {
    type: { type: 'string' },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    reason: { type: 'string' },
    message: { type: 'string' },
    observedGeneration: { type: 'integer', format: 'int64' },
    lastTransitionTime: { type: 'string', format: 'date-time' },
    reportedBy: { type: 'string' },
  },
} as const;

const COUNT = { type: 'integer', format: 'int64' } as const;

/** Written by pilot-discovery; each of its replicas has its own entry among the proxies. */
const STATUS = {
  type: 'object',
  'x-kubernetes-preserve-unknown-fields': true,
  properties: {
    observedGeneration: COUNT,
    conditions: {
      type: 'array',
      items: CONDITION,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
    services: {
      type: 'object',
      properties: { total: COUNT, names: { type: 'array', items: { type: 'string' } } },
    },
    proxies: {
      type: 'array',
      items: {
        type: 'object',
        required: ['reportedBy'],
        properties: { reportedBy: { type: 'string' }, observedGeneration: COUNT, connected: COUNT, acknowledged: COUNT },
      },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['reportedBy'],
    },
  },
} as const;

/** Of these, kubectl shows those of priority 0 always and the others with -o wide. */
const COLUMNS = [
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ...['Accepted', 'Conflicted', 'Acknowledged'].map((type) => ({
    name: type,
    type: 'string',
    jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
    priority: 1,
  })),
  { name: 'Services', type: 'integer', jsonPath: '.status.services.total', priority: 1 },
];

const POLICY_SUMMARY = 'Which peer (mutual TLS) and origin (JWT) authentication services require.';

/** The definitions of everything that the mesh is told by objects of its own: policies, and the rules of mixs. */
export function allDefinitions(names: Names): readonly KubeObject[] {
  return [...customResourceDefinitions(names), ...ruleDefinitions(names.domain, 'all')];
}

/** Policy and MeshPolicy, in `authentication.<mesh domain>/v1alpha1`. */
export function customResourceDefinitions(names: Names): readonly KubeObject[] {
  const { policy, meshPolicy } = kindsFor(names);
  const spec = structuralSchema(POLICY_SPEC);
  return [definition(policy, names, spec), definition(meshPolicy, names, spec)];
}

function definition(kind: ResourceKind, names: Names, spec: StructuralSchema): KubeObject {
  const { group, apiVersion } = names.authentication;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${group}`, labels: { app: 'mesh', package: 'authentication' } },
    spec: {
      group,
      scope: kind.namespaced ? 'Namespaced' : 'Cluster',
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        categories: ['mesh'],
      },
      versions: [
        {
          name: apiVersion.slice(group.length + 1),
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: COLUMNS,
          schema: {
            openAPIV3Schema: {
              description: POLICY_SUMMARY,
              type: 'object',
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec,
                status: STATUS,
              },
            },
          },
        },
      ],
    },
  };
}
