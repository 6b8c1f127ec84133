/** The CustomResourceDefinitions of what mixs reads, made from the schemas that files are checked by too. */
import type { KubeObject } from '../../model/object.ts';
import { structuralSchema } from '../../model/schema/structural-schema.ts';
import { ADAPTERS } from '../adapter/adapters.ts';
import { isTemplateName, TEMPLATES } from '../template/templates.ts';
import { CORE_SCHEMAS } from './core-schemas.ts';
import { type RuleKind, ruleKinds } from './kinds.ts';

/** Which definitions are asked for: all of them, those of adapters, or those of instances. */
export type CrdPart = 'all' | 'adapter' | 'instance';

const PART_OF: Readonly<Record<CrdPart, readonly RuleKind['part'][]>> = {
  all: ['core', 'adapter', 'template'],
  adapter: ['adapter'],
  instance: ['template'],
};

/** The label by which peers' tools tell what a definition is for. */
const LABEL_OF: Readonly<Record<RuleKind['part'], string>> = {
  core: 'core',
  adapter: 'mixer-adapter',
  template: 'mixer-instance',
};

const COLUMNS = [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }];

export function ruleDefinitions(domain: string, part: CrdPart): readonly KubeObject[] {
  return ruleKinds(domain)
    .filter((kind) => PART_OF[part].includes(kind.part))
    .map(definition);
}

function definition(kind: RuleKind): KubeObject {
  const { apiVersion, kind: name, plural } = kind.resource;
  const [group, version] = apiVersion.split('/');
  const { description, schema } = specOf(kind);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, labels: { app: 'mixs', package: name.toLowerCase(), istio: LABEL_OF[kind.part] } },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: name, listKind: `${name}List`, plural, singular: name.toLowerCase(), categories: ['mesh', 'mixs'] },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          additionalPrinterColumns: COLUMNS,
          schema: {
            openAPIV3Schema: {
              description,
              type: 'object',
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec: structuralSchema(schema),
              },
            },
          },
        },
      ],
    },
  };
}

function specOf(kind: RuleKind): { readonly description: string; readonly schema: object } {
  if (kind.part === 'core') return CORE_SCHEMAS[kind.name];
  if (kind.part === 'template' && isTemplateName(kind.name)) return TEMPLATES[kind.name];
  const adapter = ADAPTERS.get(kind.name);
  if (adapter === undefined) throw new TypeError(`there is no kind ${kind.name}`);
  return adapter;
}
