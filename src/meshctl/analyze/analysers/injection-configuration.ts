import { compileTemplate } from '../../../injection/template.ts';
import { formatProblem, MeshError } from '../../../lib/errors.ts';
import type { Finding, Subject } from '../finding.ts';
import { INJECTION_CONFIG_MAP, type MeshState } from '../mesh-state.ts';

/** MESH114: the injection configuration does not parse, or its template does not compile. */
export function injectionConfiguration({ injection, rootNamespace }: MeshState): readonly Finding[] {
  if (injection === undefined) return [];
  const subject: Subject = { kind: 'ConfigMap', namespace: rootNamespace, name: INJECTION_CONFIG_MAP.name };
  const path = `data.${INJECTION_CONFIG_MAP.key}`;
  const finding = (message: string): Finding => ({
    code: 'MESH114',
    subject,
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
