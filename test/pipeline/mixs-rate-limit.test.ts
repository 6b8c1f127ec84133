/** Quotas of mixs for a proxy that its operator has configured: a real Envoy's rate limit filter. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { serverFlags } from '../../src/mixs/flags.ts';
import { run } from '../../src/mixs/main.ts';
import { ruleObject } from '../fakes/rule-objects.ts';
import { freePort } from '../harness/free-port.ts';
import { InProcess } from '../harness/in-process.ts';
import { manifest } from '../harness/manifest.ts';
import { RateLimitedEnvoy } from '../harness/rate-limited-envoy.ts';

const RULES = [
  ruleObject('quota', 'requests', {
    dimensions: { client: 'source.ip | ip("0.0.0.0")', user: 'request.headers["user"] | "nobody"' },
  }),
  ruleObject('memquota', 'counter', { quotas: [{ name: 'requests', maxAmount: 3, validDuration: '1h' }] }),
  ruleObject('rule', 'count', { actions: [{ handler: 'counter.memquota', instances: ['requests.quota'] }] }),
];

describe("a real Envoy's rate limits", function () {
  this.timeout(120_000);
  let dir: string;
  let mixs: InProcess;
  let port: number;
  const envoys: RateLimitedEnvoy[] = [];

  const envoyFor = async (domain: string): Promise<RateLimitedEnvoy> => {
    const envoy = await RateLimitedEnvoy.start(port, domain);
    envoys.push(envoy);
    return envoy;
  };
  const status = async ({ url }: RateLimitedEnvoy, user: string): Promise<number> =>
    (await fetch(url, { headers: { 'x-user': user, connection: 'close' } })).status;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mixs-limits-'));
    manifest(dir, 'rules.yaml', ...RULES);
    port = await freePort();
    const options = { configStoreURL: `fs://${dir}`, port, monitoringPort: await freePort() };
    mixs = await InProcess.start(run, serverFlags, options, 'serving');
  });

  after(async () => {
    for (const envoy of envoys) await envoy.stop();
    await mixs?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it('are quotas of mixs: 429 when one is used up, for whom it is used up', async () => {
    const envoy = await envoyFor('requests');
    const answers = await Promise.all(Array.from({ length: 5 }, () => status(envoy, 'alice')));
    expect(answers.toSorted()).to.deep.equal([200, 200, 200, 429, 429]);
    expect(await status(envoy, 'alice')).to.equal(429);
    expect(await status(envoy, 'bob')).to.equal(200);
  });

  it('admit nothing by a domain that nobody counts, where the filter says so', async () => {
    expect(await status(await envoyFor('request'), 'alice')).to.equal(500);
  });
});
