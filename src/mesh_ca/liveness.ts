/** The liveness file: kept fresh as long as the authority can really sign; `mesh_ca probe` looks at its age. */
import { writeFile } from 'node:fs/promises';
import { setInterval } from 'node:timers/promises';
import type { Logger } from '../io/log/logger.ts';
import { generateKeyPair } from '../io/x509/key.ts';
import { validityFrom } from '../io/x509/template.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { type Authority, issue } from './authority.ts';

export interface LivenessFile {
  readonly path: string;
  /** How old the file may become; it is touched twice as often. */
  readonly interval: Duration;
  /** Between checks of the authority. */
  readonly checkInterval: Duration;
}

export interface LivenessOptions extends LivenessFile {
  /** Rejects when the authority does not work. */
  readonly check: () => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Touches the file until the signal is aborted, except while the latest check failed. The first check comes before the first touch. */
export async function keepLivenessFile(options: LivenessOptions): Promise<void> {
  let healthy = await passes(options);
  const touching = repeat(options.interval / 2, options, async () => {
    if (healthy) await touch(options);
  });
  const checking = repeat(options.checkInterval, options, async () => {
    healthy = await passes(options);
  });
  if (healthy) await touch(options);
  await Promise.all([touching, checking]);
}

async function repeat(ms: number, { signal }: LivenessOptions, run: () => Promise<void>): Promise<void> {
  try {
    for await (const _ of setInterval(ms, undefined, { signal })) await run();
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}

async function passes({ check, logger }: LivenessOptions): Promise<boolean> {
  try {
    await check();
    return true;
  } catch (thrown) {
    logger.error('the certificate authority does not work: the liveness file is not renewed', {
      reason: MeshError.from(thrown).message,
    });
    return false;
  }
}

async function touch({ path, logger }: LivenessOptions): Promise<void> {
  try {
    await writeFile(path, 'ok');
  } catch (thrown) {
    logger.error('the liveness file cannot be written', { path, reason: MeshError.from(thrown).message });
  }
}

/** Signs a certificate that nobody gets, with all checks of a real one. */
export async function selfCheck(authority: Authority, now: () => Date, newSerial: () => Uint8Array): Promise<void> {
  const { publicKey } = await generateKeyPair('ec-p256');
  const names = [{ type: 'dns', value: 'liveness.invalid' }] as const;
  const validity = validityFrom(now(), seconds(60), authority.validity);
  const use = { type: 'tls', server: true, client: false } as const;
  await issue(authority, { subject: {}, names, publicKey, serial: newSerial(), ...validity, use }, now());
}
