import type { ResponseFlags } from '#gen/envoy/data/accesslog/v3/accesslog.ts';

/** What people know from Envoy's text logs (%RESPONSE_FLAGS%). */
const FLAGS: readonly (readonly [keyof ResponseFlags, string])[] = [
  ['failedLocalHealthcheck', 'LH'],
  ['noHealthyUpstream', 'UH'],
  ['upstreamRequestTimeout', 'UT'],
  ['localReset', 'LR'],
  ['upstreamRemoteReset', 'UR'],
  ['upstreamConnectionFailure', 'UF'],
  ['upstreamConnectionTermination', 'UC'],
  ['upstreamOverflow', 'UO'],
  ['noRouteFound', 'NR'],
  ['delayInjected', 'DI'],
  ['faultInjected', 'FI'],
  ['rateLimited', 'RL'],
  ['unauthorizedDetails', 'UAEX'],
  ['rateLimitServiceError', 'RLSE'],
  ['downstreamConnectionTermination', 'DC'],
  ['upstreamRetryLimitExceeded', 'URX'],
  ['streamIdleTimeout', 'SI'],
  ['invalidEnvoyRequestHeaders', 'IH'],
  ['downstreamProtocolError', 'DPE'],
  ['upstreamMaxStreamDurationReached', 'UMSDR'],
  ['responseFromCacheFilter', 'RFCF'],
  ['noFilterConfigFound', 'NFCF'],
  ['durationTimeout', 'DT'],
  ['upstreamProtocolError', 'UPE'],
  ['noClusterFound', 'NC'],
  ['overloadManager', 'OM'],
  ['dnsResolutionFailure', 'DF'],
  ['downstreamRemoteReset', 'DR'],
];

/** Joined by commas; `-` where nothing went wrong. */
export function flagsText(flags: ResponseFlags | undefined): string {
  const set = FLAGS.filter(([field]) => flags?.[field] !== undefined && flags[field] !== false).map(([, text]) => text);
  return set.length === 0 ? '-' : set.join(',');
}
