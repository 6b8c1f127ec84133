import { seconds } from '../../lib/duration.ts';
import type { Fields } from './fields.ts';
import { parseExec, parseHttpGet } from './parse-probe.ts';
import type { HookSpec } from './pod-spec.ts';

/** Reads a hook of a container's `lifecycle`; absent stays absent. One that no kubelet runs is a problem. */
export function parseHook(hook: Fields | undefined): HookSpec | undefined {
  if (hook === undefined) return undefined;
  const http = hook.optionalObject('httpGet');
  if (http !== undefined) return parseHttpGet(http);
  const exec = hook.optionalObject('exec');
  if (exec !== undefined) return parseExec(exec);
  const sleep = hook.optionalObject('sleep');
  if (sleep !== undefined) return { type: 'sleep', time: seconds(Math.max(0, sleep.integer('seconds') ?? 0)) };
  hook.problem('', 'the lab runs hooks of exec, httpGet and sleep');
  return undefined;
}
