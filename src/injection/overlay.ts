import { MeshError } from '../lib/errors.ts';
import { NAMED_LISTS, type NamedItem, type NamedList } from './pod.ts';
import { isRecord, isRecordList, isStringMap, type JsonObject, type Labels } from './shape.ts';

/** What a template yields: the things to add to a pod. */
export interface SidecarOverlay {
  /** In the order of the template. Names are unique within a list. */
  readonly lists: Readonly<Record<NamedList, readonly NamedItem[]>>;
  /** Fields of the pod's securityContext, for those that the pod does not set itself. */
  readonly securityContext: JsonObject;
  /** Annotations and labels, for those that the pod does not have itself. */
  readonly annotations: Labels;
  readonly labels: Labels;
}

const MAPS = ['securityContext', 'annotations', 'labels'];

/** Checks what a template yielded. Throws MeshError `invalid` naming the field. */
export function readOverlay(rendered: JsonObject): SidecarOverlay {
  const known: readonly string[] = [...NAMED_LISTS, ...MAPS];
  for (const field of Object.keys(rendered)) {
    if (!known.includes(field)) throw wrong(`has the unknown field ${JSON.stringify(field)}; its fields are ${known.join(', ')}`);
  }
  const securityContext = rendered['securityContext'] ?? {};
  if (!isRecord(securityContext)) throw wrong('must give securityContext as a mapping');
  return {
    lists: {
      initContainers: readList(rendered, 'initContainers'),
      containers: readList(rendered, 'containers'),
      volumes: readList(rendered, 'volumes'),
      imagePullSecrets: readList(rendered, 'imagePullSecrets'),
    },
    securityContext,
    annotations: readTexts(rendered, 'annotations'),
    labels: readTexts(rendered, 'labels'),
  };
}

function readList(rendered: JsonObject, list: NamedList): readonly NamedItem[] {
  const items = rendered[list] ?? [];
  if (!isRecordList(items) || !items.every(isNamed)) throw wrong(`must give ${list} as a list of objects with a name`);
  const names = items.map((item) => item.name);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw wrong(`gives ${JSON.stringify(repeated)} twice in ${list}`);
  return items;
}

function isNamed(item: JsonObject): item is NamedItem {
  return typeof item['name'] === 'string' && item['name'] !== '';
}

function readTexts(rendered: JsonObject, field: 'annotations' | 'labels'): Labels {
  const texts = rendered[field] ?? {};
  if (!isStringMap(texts)) throw wrong(`must give ${field} as a mapping of texts`);
  return texts;
}

function wrong(what: string): MeshError {
  return new MeshError('invalid', `the injection template ${what}`);
}
