import type { Profiler as CpuProfiler, HeapProfiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Profile } from '#gen/perftools/profiles/profile.ts';
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { cpuProfileToPprof, heapProfileToPprof } from './pprof.ts';

/** Profiles of this process as `go tool pprof` opens them: gzip'ed protobuf. */
export interface Profiler {
  /**
   * Watches the main thread for a while. `gone` ends that early.
   * @throws MeshError `conflict` while another one runs, `cancelled` when it is ended early
   */
  cpu(time: Duration, gone: AbortSignal): Promise<Uint8Array>;
  /** What is alive of the memory allocated since the profiler was started. */
  heap(): Promise<Uint8Array>;
}

const CPU_INTERVAL_MICROS = 1_000;
/** Four times as often as Go does, for smaller heaps; still cheap enough to run all the time. */
const HEAP_INTERVAL_BYTES = 128 * 1024;

const compress = promisify(gzip);

/** Starts to sample allocations; ends with `signal`. */
export async function startProfiler(now: () => Date, signal: AbortSignal): Promise<Profiler> {
  const session = new Session();
  session.connect();
  signal.addEventListener('abort', () => session.disconnect(), { once: true });
  await session.post('HeapProfiler.startSampling', { samplingInterval: HEAP_INTERVAL_BYTES });
  let running = false;
  return {
    cpu: async (time, gone) => {
      if (running)
        throw new MeshError('conflict', 'a CPU profile is being taken; there is one at a time: try again when it is done');
      running = true;
      try {
        const takenAt = now();
        const profile = await watchCpu(session, time, AbortSignal.any([signal, gone]));
        return await encode(cpuProfileToPprof(profile, takenAt, CPU_INTERVAL_MICROS));
      } finally {
        running = false;
      }
    },
    heap: async () => {
      const { profile }: { profile: HeapProfiler.SamplingHeapProfile } = await session.post('HeapProfiler.getSamplingProfile');
      return encode(heapProfileToPprof(profile, now(), HEAP_INTERVAL_BYTES));
    },
  };
}

async function watchCpu(session: Session, time: Duration, stop: AbortSignal): Promise<CpuProfiler.Profile> {
  await session.post('Profiler.enable');
  try {
    await session.post('Profiler.setSamplingInterval', { interval: CPU_INTERVAL_MICROS });
    await session.post('Profiler.start');
    await setTimeout(time, undefined, { signal: stop });
    return (await session.post('Profiler.stop')).profile;
  } catch (thrown) {
    throw stop.aborted ? new MeshError('cancelled', 'the profile was ended before its time', thrown) : thrown;
  } finally {
    // Ends a profile that still runs, too. A session that is disconnected has nothing left to end.
    await session.post('Profiler.disable').catch(() => {});
  }
}

function encode(profile: Profile): Promise<Uint8Array> {
  return compress(Profile.encode(profile).finish());
}
