/** The whole chain: pilot-agent and its real Envoy, configured by pilot-discovery, and traffic. */
import { expect } from 'chai';
import { seconds } from '../../src/lib/duration.ts';
import { AgentPod, OWN } from '../harness/agent-pod.ts';
import { pod, service, slice } from '../harness/discovery-manifests.ts';
import { manifest } from '../harness/manifest.ts';
import { eventually } from '../harness/sidecar.ts';

const FIRST = '10.1.1.2';
const SECOND = '10.1.1.3';

/** A Zipkin collector that prints what it gets. */
const ZIPKIN = `require('http').createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    for (const span of JSON.parse(body)) console.log('span', span.kind, span.tags['http.status_code']);
    response.writeHead(202).end();
  });
}).listen(9411, '127.0.0.1');`;

describe('pilot-agent with pilot-discovery', function () {
  this.timeout(120_000);
  let chain: AgentPod;

  beforeEach(() => {
    chain = new AgentPod();
    manifest(chain.manifests, 'httpbin.yaml', service(), slice(), pod());
    manifest(chain.manifests, 'other.yaml', service('other', '10.96.0.2'), slice('other', [FIRST]));
  });
  afterEach(async function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(chain.output);
    await chain.stop();
  });

  const ready = () => eventually('the sidecar is ready', async () => (await chain.page(15020, '/healthz/ready')) === 'ready\n');
  const answers = (host: string, body: string) =>
    eventually(`${host} is answered by ${body}`, async () => (await chain.curl(`http://${host}:8000/`)).body === body);

  for (const [what, options] of [
    ['polls over REST', { bootstrapv2: false, discoveryRefreshDelay: seconds(0.2) }],
    ['listens to ADS', { bootstrapv2: true }],
  ] as const) {
    for (const controlPlaneAuthPolicy of ['NONE', 'MUTUAL_TLS'] as const) {
      it(`carries traffic when it ${what}, the link being secured by ${controlPlaneAuthPolicy}`, async () => {
        await chain.start({ defaultConfig: { controlPlaneAuthPolicy } }, [FIRST, SECOND]);
        chain.startAgent({ ...options, controlPlaneAuthPolicy });
        await ready();
        await answers('10.96.0.2', FIRST);
        await answers(OWN, OWN);
        manifest(chain.manifests, 'other.yaml', service('other', '10.96.0.2'), slice('other', [SECOND]));
        await answers('10.96.0.2', SECOND);
        const rejected = await chain.page(15000, '/stats?filter=update_rejected');
        expect(rejected.split('\n').filter((line) => line !== '' && !line.endsWith(': 0'))).to.deep.equal([]);
        const handshakes = await chain.page(15000, '/stats?filter=^cluster.xds-(grpc|rest).ssl.handshake');
        expect(/: [1-9]/.test(handshakes)).to.equal(controlPlaneAuthPolicy === 'MUTUAL_TLS');
      });
    }
  }

  it('reports a span of every request when the mesh traces', async () => {
    await chain.start({ enableTracing: true }, [FIRST]);
    chain.runScript(ZIPKIN);
    chain.startAgent({ bootstrapv2: true, collectorBAddress: '127.0.0.1:9411' });
    await ready();
    await answers('10.96.0.2', FIRST);
    await answers(OWN, OWN);
    for (const kind of ['CLIENT', 'SERVER'])
      await eventually(`a span of kind ${kind} arrives`, () => chain.output.includes(`span ${kind} 200`) || undefined);
  });

  it('gets nothing in plaintext from a discovery that asks for mutual TLS', async () => {
    await chain.start({ defaultConfig: { controlPlaneAuthPolicy: 'MUTUAL_TLS' } }, [FIRST]);
    chain.startAgent({ bootstrapv2: false, discoveryRefreshDelay: seconds(0.1) });
    await eventually('it has been refused', async () => {
      const stats = await chain.page(15000, '/stats?filter=cluster_manager.cds.update_failure');
      return Number(/: (\d+)/.exec(stats)?.[1]) > 2;
    });
    expect(await chain.page(15020, '/healthz/ready')).to.equal('no clusters were received from discovery yet\n');
  });
});
