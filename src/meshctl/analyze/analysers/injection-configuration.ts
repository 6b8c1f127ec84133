import { compileTemplate } from '../../../injection/template.ts';
import { formatProblem, MeshError } from '../../../lib/errors.ts';
import type { Finding, Subject } from '../finding.ts';
import { INJECTION_CONFIG_MAP, type MeshState, ROOT_NAMESPACE } from '../mesh-state.ts';

const SUBJECT: Subject = { kind: 'ConfigMap', namespace: ROOT_NAMESPACE, name: INJECTION_CONFIG_MAP.name };

/** MESH114: the injection configuration does not parse, or its template does not compile. */
export function injectionConfiguration({ injection }: MeshState): readonly Finding[] {
  if (injection === undefined) return [];
  const path = `data.${INJECTION_CONFIG_MAP.key}`;
  const finding = (message: string): Finding => ({
    code: 'MESH114',
    subject: SUBJECT,
    path,
    message: `key "config": ${message}`,
  });
  if (!injection.ok) return injection.problems.map((problem) => finding(formatProblem(problem)));
  try {
    compileTemplate(injection.value.template);
    return [];
  } catch (thrown) {
    return [finding(`template: ${MeshError.from(thrown).message}`)];
  }
}
