import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../../../injection/decision.ts';
import { parseSelector, selects } from '../../../injection/selector.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { consequenceOf, meshWebhooks } from './webhooks.ts';

/** MESH606, MESH607: how the API server is told to use the webhook. */
export function webhookSettings(state: MeshState): readonly Finding[] {
  return meshWebhooks(state).flatMap((webhook): readonly Finding[] => {
    const { role, object, fields, path } = webhook;
    const subject = subjectOf(object);
    const findings: Finding[] = [];
    if (fields.failurePolicy === 'Ignore') {
      const message = `failurePolicy is Ignore: while nobody answers, ${consequenceOf(webhook)}`;
      findings.push({ code: 'MESH606', subject, path: `${path}.failurePolicy`, message });
    }
    if (role === 'injection' && !selectsLabelled(fields.namespaceSelector)) {
      const message = `its namespaceSelector leaves out namespaces with the label ${NAMESPACE_LABEL}=${NAMESPACE_LABEL_VALUE}`;
      findings.push({ code: 'MESH607', subject, path: `${path}.namespaceSelector`, message });
    }
    return findings;
  });
}

/** No selector selects every namespace. */
function selectsLabelled(selector: unknown): boolean {
  return selects(parseSelector(selector ?? {}, 'namespaceSelector', []), { [NAMESPACE_LABEL]: NAMESPACE_LABEL_VALUE });
}
