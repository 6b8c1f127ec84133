/** The webhook: admission reviews of pods in, the same with a patch out. */
import { type InjectionContext, injectPod } from '../injection/inject.ts';
import { reviewHandler } from '../io/admission/handler.ts';
import type { AdmissionRequest, Verdict } from '../io/admission/review.ts';
import type { HttpHandler } from '../io/http/types.ts';
import type { Logger } from '../io/log/logger.ts';
import { MeshError } from '../lib/errors.ts';

export const INJECT_PATH = '/inject';

/** Serves `POST /inject`. The context is asked for at every review, so that a configuration that changed decides at once. */
export function injectHandler(context: () => InjectionContext, logger: Logger): HttpHandler {
  return reviewHandler({ path: INJECT_PATH, decide: (request) => decide(request, context(), logger), logger });
}

function decide(request: AdmissionRequest, context: InjectionContext, logger: Logger): Verdict {
  const { kind, operation, namespace, name, object } = request;
  // The webhook configuration asks for new pods only; whoever widens it must not be hurt.
  if (kind !== 'Pod' || operation !== 'CREATE') return { type: 'unchanged' };
  try {
    const result = injectPod(object, { name: namespace, chosen: { by: 'caller' } }, context);
    logger.debug('pod reviewed', { namespace, pod: name, outcome: result.type, reason: result.reason });
    return result.type === 'injected' ? { type: 'patched', patch: result.patch } : { type: 'unchanged' };
  } catch (thrown) {
    const error = MeshError.from(thrown);
    // A pod that cannot get its sidecar does not start without: it would be outside of every policy.
    logger.warn('pod refused', { namespace, pod: name, reason: error.message });
    return { type: 'denied', message: error.message, code: error.code === 'invalid' ? 400 : 500 };
  }
}
