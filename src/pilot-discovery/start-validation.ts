import type { FollowedFiles } from '../io/file/follow-files.ts';
import type { Host } from '../io/host.ts';
import type { Logger } from '../io/log/logger.ts';
import { kindsFor } from '../model/kinds.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import type { DiscoveryConfig } from './config.ts';
import type { Metrics } from './metrics.ts';
import type { PolicyReviewDeps } from './policy-review.ts';
import type { TlsMaterial } from './tls-material.ts';
import type { Validation } from './validation.ts';

export interface ValidationSources extends Omit<PolicyReviewDeps, 'names'> {
  readonly tls: FollowedFiles<TlsMaterial> | undefined;
  readonly onReview: Metrics['policyReviewed'];
  readonly host: Host;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Serves the webhook that policies are checked by; `undefined` where it is not configured. Its code is loaded only then. */
export async function startValidation(
  config: DiscoveryConfig,
  store: ObjectStore,
  { tls, onReview, host, logger, signal, ...sources }: ValidationSources,
): Promise<Validation | undefined> {
  if (config.validation === undefined || tls === undefined) return undefined;
  const { address, configuration } = config.validation;
  const { names } = host;
  const [{ serveValidation }, { createPolicyReview }] = await Promise.all([
    import('./validation.ts'),
    import('./policy-review.ts'),
  ]);
  const webhook = { kind: kindsFor(names).validatingWebhookConfiguration, configuration, entry: names.validationWebhookName };
  const decide = createPolicyReview({ names, ...sources });
  return serveValidation({ address, webhook, store, tls, decide, onReview, logger, signal });
}
