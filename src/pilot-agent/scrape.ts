import type { Logger } from '../io/log/logger.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { Admin } from './admin.ts';
import { requestApplication } from './app-request.ts';
import type { AppScrape } from './app-scrape.ts';
import { mergeExpositions, type SourceText } from './merge-expositions.ts';
import type { AgentMetrics } from './metrics.ts';

/** Each source has this long, so that the whole is there before Prometheus gives up (after 10 s by default). */
const DEADLINE: Duration = seconds(4);
const MAX_BYTES = 32 << 20;
/** The older format, which every client library still speaks, for the proxy's and the agent's own are in it. */
const ACCEPT = 'text/plain;version=0.0.4;q=1,*/*;q=0.1';
const TEXT_TYPES = /^(text\/plain|application\/openmetrics-text)\b/;

export interface ScrapeDeps {
  readonly admin: Admin;
  readonly application: { readonly address: string; readonly scrape: AppScrape } | undefined;
  readonly metrics: AgentMetrics;
  readonly logger: Logger;
}

/**
 * Statistics of the proxy, the application and the agent as one text. A source that fails is left out and counted; the
 * others are there all the same.
 */
export function createScraper({ admin, application, metrics, logger }: ScrapeDeps): () => Promise<string> {
  const problems = new Map<string, string>();
  const attempt = async <T>(source: 'proxy' | 'application', work: () => Promise<T>): Promise<T | undefined> => {
    try {
      const result = await work();
      problems.delete(source);
      return result;
    } catch (thrown) {
      metrics.scrapeFailed(source);
      const { message } = MeshError.from(thrown);
      if (problems.get(source) !== message) logger.warn('statistics cannot be had', { source, error: message });
      problems.set(source, message);
      return undefined;
    }
  };
  return async () => {
    const [proxy, app] = await Promise.all([
      attempt('proxy', () => admin.get('/stats/prometheus')),
      application === undefined
        ? undefined
        : attempt('application', () => scrapeApplication(application.address, application.scrape)),
    ]);
    const merged = mergeExpositions([proxy ?? '', await metrics.print()], app);
    metrics.samplesLeftOut(merged);
    return merged.text;
  };
}

async function scrapeApplication(address: string, { port, path }: AppScrape): Promise<SourceText> {
  const answer = await requestApplication({
    scheme: 'http',
    address,
    port,
    path,
    headers: [
      ['accept', ACCEPT],
      ['user-agent', 'mesh-pilot-agent'],
    ],
    maxBytes: MAX_BYTES,
    beyond: 'fail',
    signal: AbortSignal.timeout(DEADLINE),
  });
  const at = `the application's port ${port} answers ${path}`;
  if (answer.status !== 200) throw new MeshError('unavailable', `${at} with status ${answer.status}`);
  if (answer.contentType !== '' && !TEXT_TYPES.test(answer.contentType))
    throw new MeshError('unavailable', `${at} with ${answer.contentType.slice(0, 100)}, which is no format of statistics`);
  return { text: answer.body, openMetrics: answer.contentType.startsWith('application/openmetrics-text') };
}
