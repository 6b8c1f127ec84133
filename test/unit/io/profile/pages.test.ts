import { expect } from 'chai';
import { profilePages } from '../../../../src/io/profile/pages.ts';
import { type Profiler, startProfiler } from '../../../../src/io/profile/profiler.ts';
import type { Duration } from '../../../../src/lib/duration.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { httpRequest } from '../../../fakes/http-request.ts';

class FakeProfiler implements Profiler {
  readonly asked: Duration[] = [];

  async cpu(time: Duration): Promise<Uint8Array> {
    this.asked.push(time);
    return Buffer.from('cpu');
  }

  async heap(): Promise<Uint8Array> {
    return Buffer.from('heap');
  }
}

describe('pages of profiles', () => {
  const get = async (path: string, profiler: Profiler | undefined = new FakeProfiler()) => {
    const response = await profilePages(profiler, httpRequest(`GET ${path}`));
    return { ...response, body: String(response?.body) };
  };
  const refusal = async (path: string) => MeshError.from(await get(path).catch((error: unknown) => error));

  it('lists what there is', async () => {
    expect((await get('/debug/pprof/')).body).to.match(/^profile .*^heap /ms);
    expect(await get('/debug/pprof')).to.deep.include({ status: 301, headers: { location: '/debug/pprof/' } });
  });

  it('takes a CPU profile for as long as it is asked to, else for 30 seconds', async () => {
    const profiler = new FakeProfiler();
    for (const query of ['?seconds=1', '?seconds=60', '']) await get(`/debug/pprof/profile${query}`, profiler);
    expect(profiler.asked).to.deep.equal([1_000, 60_000, 30_000]);
  });

  for (const seconds of ['0', '61', '-1', '1.5', '1e1', 'x', '', '9999999999'])
    it(`refuses seconds=${seconds}`, async () => {
      const message = `seconds: "${seconds}" is not a whole number from 1 to 60`;
      expect(await refusal(`/debug/pprof/profile?seconds=${seconds}`)).to.include({ code: 'invalid', message });
    });

  it('says which flag starts profiling, and which profiles there are', async () => {
    const off = MeshError.from(
      await profilePages(undefined, httpRequest('GET /debug/pprof/heap'))?.catch((error: unknown) => error),
    );
    expect(off).to.include({ code: 'not_found', message: 'there are no profiles at /debug/pprof/: start with --profile' });
    expect((await refusal('/debug/pprof/goroutine')).message).to.match(/^there is no profile goroutine; there are/);
    expect(profilePages(undefined, httpRequest('GET /debug/pprofile'))).to.equal(undefined);
    expect(await profilePages(new FakeProfiler(), httpRequest('POST /debug/pprof/heap'))).to.have.property('status', 405);
  });
});

describe('profiler', () => {
  it('takes one CPU profile at a time, and ends it when nobody waits for it', async () => {
    const stop = new AbortController();
    const profiler = await startProfiler(() => new Date(), stop.signal);
    const gone = new AbortController();
    const minute = 60_000 as Duration;
    const first = profiler.cpu(minute, gone.signal).catch(MeshError.from);
    expect(await profiler.cpu(minute, gone.signal).catch(MeshError.from)).to.have.property('code', 'conflict');
    gone.abort();
    expect(await first).to.have.property('code', 'cancelled');
    const second = profiler.cpu(minute, new AbortController().signal).catch(MeshError.from);
    stop.abort();
    expect(await second).to.have.property('code', 'cancelled');
  });
});
