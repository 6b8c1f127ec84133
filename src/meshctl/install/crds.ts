/** The CustomResourceDefinitions of the mesh, made from the schemas that validate files. */
import type { Names } from '../../lib/names.ts';
import { kindsFor } from '../../model/kinds.ts';
import type { KubeObject, ResourceKind } from '../../model/object.ts';
import { POLICY_SPEC } from '../../model/schema/policy.ts';
import { type StructuralSchema, structuralSchema } from './structural-schema.ts';

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

/** Written by pilot-discovery. */
const STATUS = {
  type: 'object',
  'x-kubernetes-preserve-unknown-fields': true,
  properties: {
    observedGeneration: { type: 'integer', format: 'int64' },
    conditions: { type: 'array', items: CONDITION },
  },
} as const;

const POLICY_SUMMARY = 'Which peer (mutual TLS) and origin (JWT) authentication services require.';

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
          additionalPrinterColumns: [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
          schema: {
            openAPIV3Schema: {
              description: POLICY_SUMMARY,
              type: 'object',
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
