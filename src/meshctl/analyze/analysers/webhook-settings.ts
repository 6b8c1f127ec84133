import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../../../injection/decision.ts';
import { parseSelector, selects } from '../../../injection/selector.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { injectionWebhooks } from './webhooks.ts';

/** MESH606, MESH607: how the API server is told to use the webhook. */
export function webhookSettings(state: MeshState): readonly Finding[] {
  return injectionWebhooks(state).flatMap(({ object, fields, path }): readonly Finding[] => {
    const subject = subjectOf(object);
    const findings: Finding[] = [];
    if (fields.failurePolicy === 'Ignore') {
      const message =
        'failurePolicy is Ignore: pods that start while the injector is down have no sidecar, and no policy holds for them';
      findings.push({ code: 'MESH606', subject, path: `${path}.failurePolicy`, message });
    }
    if (!selectsLabelled(fields.namespaceSelector)) {
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
