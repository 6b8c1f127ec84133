import { expect } from 'chai';
import { MeshError } from '../../../src/lib/errors.ts';
import type { Admin } from '../../../src/pilot-agent/admin.ts';
import { proxyReadiness } from '../../../src/pilot-agent/readiness.ts';

const READY: Readonly<Record<string, number>> = {
  'server.state': 0,
  'cluster_manager.cds.update_success': 1,
  'listener_manager.lds.update_success': 1,
  'listener_manager.workers_started': 1,
};

/** An administration port that has these statistics and listens on these ports. */
function fakeAdmin(statistics: Readonly<Record<string, number>>, ports: readonly number[]): Admin {
  const answers: Readonly<Record<string, unknown>> = {
    '/stats': { stats: [...Object.entries(statistics).map(([name, value]) => ({ name, value })), { histograms: {} }] },
    '/listeners': {
      listener_statuses: ports.map((port) => ({
        name: `l${port}`,
        local_address: { socket_address: { address: '0.0.0.0', port_value: port } },
      })),
    },
  };
  const get = async (path: string): Promise<string> => JSON.stringify(answers[path.split('?')[0] ?? '']);
  return { get, post: get };
}

describe('readiness of the proxy', () => {
  it('needs configuration, a live proxy and the inbound listener', async () => {
    expect(await proxyReadiness(fakeAdmin(READY, [15090, 15006]), 15006)).to.deep.equal({ ready: true });
  });

  for (const [change, ports, reason] of [
    [{ 'cluster_manager.cds.update_success': 0 }, [15006], 'no clusters were received from discovery yet'],
    [{ 'listener_manager.lds.update_success': 0 }, [15006], 'no listeners were received from discovery yet'],
    [{ 'server.state': 2 }, [15006], 'the proxy is still initialising or draining'],
    [{ 'listener_manager.workers_started': 0 }, [15006], 'the proxy is still initialising or draining'],
    [{}, [15090], 'the proxy does not listen on the inbound port 15006 yet'],
  ] as const) {
    it(`says: ${reason} (${JSON.stringify(change)})`, async () => {
      expect(await proxyReadiness(fakeAdmin({ ...READY, ...change }, ports), 15006)).to.deep.equal({ ready: false, reason });
    });
  }

  it('needs neither of a proxy that is configured by a file alone, but that it is live', async () => {
    const alone = { 'server.state': 0, 'listener_manager.workers_started': 1 };
    expect(await proxyReadiness(fakeAdmin(alone, [8080]), 15006)).to.deep.equal({ ready: true });
    expect((await proxyReadiness(fakeAdmin({ ...alone, 'server.state': 2 }, [8080]), 15006)).ready).to.equal(false);
  });

  it('is false when the proxy does not answer', async () => {
    const dead = { get: () => Promise.reject(new MeshError('unavailable', 'nobody there')), post: () => Promise.reject() };
    expect(await proxyReadiness(dead, 15006)).to.deep.equal({ ready: false, reason: 'nobody there' });
  });
});
