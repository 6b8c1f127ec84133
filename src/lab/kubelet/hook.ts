/** The hooks of a container's lifecycle (https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/). */
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { HookSpec } from './pod-spec.ts';
import { answeredHttp, type ProbeResult, type ProbeTarget } from './probe.ts';

export interface HookRun {
  readonly hook: HookSpec;
  readonly target: ProbeTarget;
  /** How long it may take. */
  readonly limit: Duration;
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  /** Ends a wait; what was begun already is left to its limit. */
  readonly signal: AbortSignal;
}

/** Runs a hook to its end, as the kubelet does: of HTTP any answer will do. Never rejects. */
export async function runHook({ hook, target, limit, sleep, signal }: HookRun): Promise<ProbeResult> {
  try {
    switch (hook.type) {
      case 'httpGet':
        await answeredHttp(hook, limit, target);
        return { ok: true };
      case 'exec': {
        const code = await target.exec(hook.command, limit);
        return code === 0 ? { ok: true } : { ok: false, message: `the command ended with exit code ${code}` };
      }
      case 'sleep':
        await sleep(hook.time, signal);
        return { ok: true };
    }
  } catch (error) {
    return { ok: false, message: MeshError.from(error).message };
  }
}
