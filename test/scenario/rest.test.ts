/** A real Envoy that polls pilot-discovery over REST. */
import { expect } from 'chai';
import { pod, policy, service, slice } from '../harness/discovery-manifests.ts';
import { manifest } from '../harness/manifest.ts';
import { OWN, PollingPod } from '../harness/polling-envoy.ts';
import { eventually } from '../harness/sidecar.ts';

const FIRST = '10.1.1.2';
const SECOND = '10.1.1.3';

for (const cached of [false, true]) {
  describe(`a real Envoy that polls over REST, ${cached ? 'answers cached' : 'answers made each time'}`, function () {
    this.timeout(120_000);
    let polling: PollingPod;

    beforeEach(async () => {
      polling = new PollingPod();
      manifest(polling.manifests, 'httpbin.yaml', service(), slice(), pod());
      manifest(polling.manifests, 'other.yaml', service('other', '10.96.0.2'), slice('other', [FIRST]));
      await polling.start({ discovery_cache: cached }, [FIRST, SECOND]);
    });

    afterEach(async function () {
      if (this.currentTest?.state === 'failed') process.stderr.write(polling.output);
      await polling.stop();
    });

    const answers = (host: string, body: string) =>
      eventually(`${host} is answered by ${body}`, async () => (await polling.curl(`http://${host}:8000/`)).body === body);

    it('takes clusters with endpoints, listeners and routes, and every change of them', async () => {
      await answers('10.96.0.2', FIRST);
      manifest(polling.manifests, 'other.yaml', service('other', '10.96.0.2'), slice('other', [SECOND]));
      await answers('10.96.0.2', SECOND);
      manifest(polling.manifests, 'third.yaml', service('third', '10.96.0.3'), slice('third', [FIRST]));
      await answers('10.96.0.3', FIRST);
    });

    it('takes a changed policy', async () => {
      await eventually('plaintext is accepted', async () => (await polling.curl(`http://${OWN}:8000/`)).status === 200);
      manifest(polling.manifests, 'policy.yaml', policy('default'));
      await eventually('plaintext is refused', async () => (await polling.curl(`http://${OWN}:8000/`)).status === 0);
      manifest(polling.manifests, 'policy.yaml', policy('default', {}));
      await eventually('plaintext is accepted again', async () => (await polling.curl(`http://${OWN}:8000/`)).status === 200);
    });

    it('is followed like a proxy on a stream, and rejects nothing', async () => {
      await answers('10.96.0.2', FIRST);
      const status = await eventually('the proxy has everything', async () => {
        const [proxy] = JSON.parse(await polling.page('/debug/syncz')) as Readonly<Record<string, unknown>>[];
        const synced = ['cluster', 'listener', 'route'].every((type) => {
          const sent = proxy?.[`${type}_sent`];
          return sent !== undefined && sent === proxy?.[`${type}_acked`];
        });
        return synced ? proxy : undefined;
      });
      expect(status).to.include({ proxy: `sidecar~${OWN}~httpbin-1.foo~foo.svc.cluster.local` });
      expect(status).to.have.property('sequence').that.is.greaterThan(0);
      const stats = await polling.admin('/stats?filter=update_rejected');
      expect(stats.split('\n').filter((line) => line !== '' && !line.endsWith(': 0'))).to.deep.equal([]);
    });
  });
}
