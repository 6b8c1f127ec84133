import { systemTimer } from '../delivery/ads.ts';
import type { Host } from '../io/host.ts';
import type { Logger } from '../io/log/logger.ts';
import { kindsFor } from '../model/kinds.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import type { DiscoveryConfig } from './config.ts';
import type { Feedback } from './feedback.ts';
import { createPolicyReports, isGone } from './policy-report.ts';
import type { Proxies } from './proxies.ts';
import type { Publisher } from './publisher.ts';
import { createStatusWriter, NO_STATUS, type StatusWriter } from './status-writer.ts';

export interface StatusSources {
  readonly publisher: Publisher;
  readonly proxies: Proxies;
  readonly feedback: Feedback;
  readonly host: Host;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Writes what becomes of policies into their status, or nothing where that is to be left alone. */
export function startStatusWriter(config: DiscoveryConfig, store: ObjectStore, sources: StatusSources): StatusWriter {
  const { publisher, proxies, feedback, host, logger, signal } = sources;
  if (config.policyStatus === 'left') return NO_STATUS;
  const { policy, meshPolicy } = kindsFor(host.names);
  const reports = createPolicyReports();
  return createStatusWriter({
    store,
    kinds: [policy, meshPolicy],
    names: host.names,
    reports: () => {
      const { snapshot, sequence } = publisher;
      if (snapshot === undefined) return new Map();
      return reports({ snapshot, sequence, rejections: feedback.rejected.list(), proxies: proxies.list() });
    },
    isGone: (id) => isGone(publisher.snapshot, config, id),
    reporterId: config.reporterId,
    now: host.now,
    timer: systemTimer,
    logger,
    signal,
  });
}
