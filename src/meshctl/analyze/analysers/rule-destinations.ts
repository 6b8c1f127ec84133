import { isMapping } from '../../../model/parse/object.ts';
import { idOfObject, namespaceOf } from '../../../rules/config/attempt.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';

/** As mixs has it of itself. */
const DEFAULT_NAMESPACE = 'mesh-system';
const NAMESPACE_FLAG = /^--configDefaultNamespace(?:=(.*))?$/;

/** MESH806, MESH807: rules and charges for services that there are not. */
export function ruleDestinations(state: MeshState): readonly Finding[] {
  if (!state.knows('service')) return [];
  return [...missingServices(state), ...deserted(state)];
}

function missingServices({ rules: { objects }, mixs: { quotaBindings }, objects: { service } }: MeshState): readonly Finding[] {
  const known = new Set(service.map(({ metadata: { name, namespace } }) => `${name}.${namespace}`));
  return objects.flatMap((object): readonly Finding[] => {
    const services = quotaBindings.get(idOfObject(object))?.services ?? [];
    return services.flatMap((name, index): readonly Finding[] => {
      if (name === '*' || known.has(name)) return [];
      const path = `spec.services[${index}]`;
      return [{ code: 'MESH806', subject: subjectOf(object), path, message: `${path}: there is no service ${name}` }];
    });
  });
}

/** Rules that hold for the services of their namespace alone, which has none, and no pods either. */
function deserted(state: MeshState): readonly Finding[] {
  const { rules, objects, snapshot, knows } = state;
  // Arguments of mixs may name another namespace whose rules hold everywhere.
  if (!knows('pod') || !knows('deployment')) return [];
  const ofServices = objects.service.map(namespaceOf);
  const inhabited = new Set([...ofServices, ...snapshot.workloads.map(({ namespace }) => namespace), ...meshWide(state)]);
  return rules.objects.flatMap((object): readonly Finding[] => {
    const namespace = namespaceOf(object);
    if (object.kind !== 'rule' || inhabited.has(namespace)) return [];
    const message = `holds for requests to services of namespace ${namespace}, which has neither services nor pods`;
    return [{ code: 'MESH807', subject: subjectOf(object), message }];
  });
}

function meshWide({ rootNamespace, objects: { deployment } }: MeshState): readonly string[] {
  return [rootNamespace, DEFAULT_NAMESPACE, ...deployment.flatMap(({ spec }) => argumentsOf(spec)).flatMap(namespaceOfFlag)];
}

/** The value stands in the word, or is the next one. */
function namespaceOfFlag(word: string, index: number, words: readonly string[]): readonly string[] {
  const found = NAMESPACE_FLAG.exec(word);
  return found === null ? [] : [found[1] ?? words[index + 1] ?? ''];
}

/** The command lines of all containers of a Deployment's spec, one behind the other. */
function argumentsOf(spec: unknown): readonly string[] {
  const template = isMapping(spec) ? spec.template : undefined;
  const pod = isMapping(template) ? template.spec : undefined;
  const containers: unknown = isMapping(pod) ? pod.containers : undefined;
  if (!Array.isArray(containers)) return [];
  return containers
    .filter(isMapping)
    .flatMap(({ command, args }): readonly unknown[] => [command, args].flat())
    .filter((word) => typeof word === 'string');
}
