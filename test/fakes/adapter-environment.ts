import { PassThrough } from 'node:stream';
import { Registry } from 'prom-client';
import type { AdapterEnvironment, LossReason } from '../../src/mixs/adapter/adapter.ts';
import { HandlerConditions } from '../../src/mixs/adapter/handler-conditions.ts';
import { ScrapedRegistries } from '../../src/mixs/adapter/scraped-registries.ts';
import { Permissions } from '../../src/rules/rbac/permissions.ts';
import { MemoryLogger } from './memory-logger.ts';

export interface TestEnvironment extends AdapterEnvironment {
  readonly logger: MemoryLogger;
  readonly conditions: HandlerConditions;
  /** What was written to standard output. */
  written(): string;
  /** How many reports were lost, by reason. */
  readonly losses: ReadonlyMap<LossReason, number>;
  /** Ends what the handler follows. */
  end(): void;
}

export function adapterEnvironment(
  now: () => Date = () => new Date(1_527_854_400_000),
  elapsed: () => number = () => 0,
): TestEnvironment {
  const stop = new AbortController();
  const stdout = new PassThrough();
  const losses = new Map<LossReason, number>();
  let text = '';
  stdout.on('data', (chunk) => {
    text += String(chunk);
  });
  return {
    handler: 'h.x.mesh-system',
    logger: new MemoryLogger(),
    now,
    elapsed,
    random: () => 0,
    signal: stop.signal,
    stdout,
    stderr: stdout,
    conditions: new HandlerConditions(),
    scraped: new ScrapedRegistries(new Registry()),
    pods: { follow: () => {}, byUid: () => undefined, byIp: () => undefined },
    permissions: () => new Permissions([], []),
    losses,
    lost: (records, reason) => losses.set(reason, (losses.get(reason) ?? 0) + records),
    written: () => text,
    end: () => stop.abort(),
  };
}
