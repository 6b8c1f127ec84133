/** V8's profiles as those of `go tool pprof`. Pure. */
import type { HeapProfiler, Profiler } from 'node:inspector';
import type { Profile } from '#gen/perftools/profiles/profile.ts';
import { type CallFrame, PprofBuilder } from './pprof-builder.ts';

const NANOS_PER_MICRO = 1_000;

/**
 * A CPU profile. Time in which the process had nothing to do is left out, as in Go's: what is left is CPU time of the main thread.
 * `interval` is that between two samples, in microseconds.
 */
export function cpuProfileToPprof(profile: Profiler.Profile, takenAt: Date, interval: number): Profile {
  const builder = new PprofBuilder({
    quantities: [
      { type: 'samples', unit: 'count' },
      { type: 'cpu', unit: 'nanoseconds' },
    ],
    takenAt,
    durationNanos: (profile.endTime - profile.startTime) * NANOS_PER_MICRO,
    period: { type: 'cpu', unit: 'nanoseconds', value: interval * NANOS_PER_MICRO },
  });
  const stackOf = stacksOf(profile.nodes);
  for (const [node, { count, micros }] of costs(profile)) {
    const stack = stackOf(node);
    if (stack[0]?.functionName !== '(idle)') builder.add(stack, [count, Math.round(micros * NANOS_PER_MICRO)]);
  }
  return builder.build();
}

interface Cost {
  readonly count: number;
  readonly micros: number;
}

/** What was sampled at each node: a sample holds until the next one is taken. */
function costs({ samples = [], timeDeltas = [], startTime, endTime }: Profiler.Profile): ReadonlyMap<number, Cost> {
  const found = new Map<number, Cost>();
  let time = startTime;
  samples.forEach((node, index) => {
    time += timeDeltas[index] ?? 0;
    // Deltas can be negative: V8 orders samples of several threads afterwards.
    const micros = Math.max(0, timeDeltas[index + 1] ?? endTime - time);
    const before = found.get(node) ?? { count: 0, micros: 0 };
    found.set(node, { count: before.count + 1, micros: before.micros + micros });
  });
  return found;
}

/** Gives the stack of a node, the leaf first and without the root that stands above all. */
function stacksOf(nodes: readonly Profiler.ProfileNode[]): (id: number) => readonly CallFrame[] {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child): [number, number] => [child, id])));
  return (id) => {
    const stack: CallFrame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = frames.get(at);
      if (frame !== undefined && parents.has(at)) stack.push(frame);
    }
    return stack;
  };
}

/** A sampled heap: what is alive, by where it was allocated. `interval` is the average number of bytes between two samples. */
export function heapProfileToPprof(profile: HeapProfiler.SamplingHeapProfile, takenAt: Date, interval: number): Profile {
  const space = { type: 'inuse_space', unit: 'bytes' };
  const builder = new PprofBuilder({
    quantities: [space],
    takenAt,
    durationNanos: 0,
    period: { ...space, type: 'space', value: interval },
  });
  const pending: { readonly node: HeapProfiler.SamplingHeapProfileNode; readonly stack: readonly CallFrame[] }[] = [
    { node: profile.head, stack: [] },
  ];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { node, stack } = next;
    if (node.selfSize > 0) builder.add(stack.length === 0 ? [node.callFrame] : stack, [Math.round(node.selfSize)]);
    for (const child of node.children) pending.push({ node: child, stack: [child.callFrame, ...stack] });
  }
  return builder.build();
}
