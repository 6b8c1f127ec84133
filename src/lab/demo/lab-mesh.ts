import { setTimeout as delay } from 'node:timers/promises';
import type { Host } from '../../io/host.ts';
import { type Duration, formatDuration, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { kindsFor } from '../../model/kinds.ts';
import { describeObject, describeRef, type KubeObject, type ObjectRef } from '../../model/object.ts';
import { parseMeshConfig } from '../../model/parse/mesh-config.ts';
import type { KindedObject } from '../../model/parse/object.ts';
import { refOf } from '../../sources/store/stored-object.ts';
import type { Lab } from '../client.ts';
import { stringMapOf } from '../controllers/pod-view.ts';
import { readManifests } from '../manifests.ts';
import { ROOT_NAMESPACE } from '../system-objects.ts';
import type { CallRecord } from './call-record.ts';
import { callScript, parseCallOutput } from './call-script.ts';
import type { CallResult, ExpectedCell } from './cells.ts';
import { LISTENER_STATS_FILTER, proxiesBehind, sequenceWith, servesOldConfiguration, type Wanted } from './in-force.ts';
import { type MeshCounts, parseCounts, SIDECARS, STATS_FILTER } from './mutual-tls.ts';
import type { Change } from './steps.ts';
import { type MintedToken, TOKEN_QUERIES } from './tokens.ts';
import { CLIENT, hostOf, NAMESPACES } from './topology.ts';
import type { ChangeTimes, MeshUnderTest } from './walk.ts';

const POLL_MS = 25;
const IN_FORCE_TIMEOUT: Duration = seconds(30);
const ADMIN = 'http://127.0.0.1:15000';
/** The port that a lab and an installed control plane have in common. */
const DISCOVERY = `http://mesh-pilot.${ROOT_NAMESPACE}:15007`;

export interface LabMeshOptions {
  readonly lab: Lab;
  readonly host: Host;
  /** Directory of the policies' files. */
  readonly policies: string;
  readonly tokens: ReadonlyMap<MintedToken, string>;
  /** Of the clients that call in the background. */
  readonly record: CallRecord;
  readonly policyTool: PolicyTool;
}

/** What policies are changed with. */
export interface PolicyTool {
  apply(manifests: readonly KindedObject[], file: string): Promise<void>;
  /** The policy may be gone already. */
  delete(policy: ObjectRef): Promise<void>;
}

/** The reference scenario's mesh as it runs in a lab. */
export class LabMesh implements MeshUnderTest {
  readonly #options: LabMeshOptions;

  constructor(options: LabMeshOptions) {
    this.#options = options;
  }

  /** Throws `deadline_exceeded` that names the proxies which do not have the change. */
  async change(changes: readonly Change[]): Promise<ChangeTimes> {
    const { host, record } = this.#options;
    const wanted = new Map<string, string | undefined>();
    let authPolicy: string | undefined;
    const begun = host.now().getTime();
    for (const change of changes) {
      record.changed(describeChange(change), host.now());
      if (change.type === 'delete') {
        wanted.set(await this.#delete(change), undefined);
        continue;
      }
      for (const object of await this.#apply(change.file)) {
        if (object.kind === 'ConfigMap') authPolicy = authPolicyOf(object);
        else wanted.set(describeObject(object), object.metadata.resourceVersion);
      }
    }
    await this.#waitForAcknowledgement({ objects: wanted, authPolicy });
    const acknowledgedMs = host.now().getTime() - begun;
    await this.#poll('proxies still serve connections by an earlier policy', async () => {
      const stats = await Promise.all(SIDECARS.map((workload) => this.#stats(workload, LISTENER_STATS_FILTER)));
      return SIDECARS.filter((_, index) => servesOldConfiguration(stats[index] ?? ''));
    });
    return { acknowledgedMs, drainedMs: host.now().getTime() - begun };
  }

  async call(calls: readonly ExpectedCell[]): Promise<readonly CallResult[]> {
    const results = new Map<ExpectedCell, CallResult>();
    await Promise.all(
      NAMESPACES.map(async (client) => {
        const own = calls.filter((call) => call.client === client);
        const script = callScript(own, this.#options.tokens);
        const { stdout } = await this.#exec(`${CLIENT}.${client}`, ['sh', '-s'], script);
        for (const [index, result] of parseCallOutput(stdout)) {
          const call = own[index];
          if (call !== undefined) results.set(call, result);
        }
      }),
    );
    return calls.map((call) => {
      const result = results.get(call);
      if (result === undefined)
        throw new MeshError('internal', `the call ${call.client} -> ${hostOf(call.target)} gave no result`);
      return result;
    });
  }

  /** Waits until every server answers every client. Throws `deadline_exceeded` that names the pairs. */
  async waitForAnswers(calls: readonly ExpectedCell[]): Promise<void> {
    await this.#poll('these calls are not answered', async () => {
      const results = await this.call(calls);
      const silent = calls.filter((_, index) => results[index]?.outcome.status !== 200);
      return silent.map(({ client, target }) => `${client} -> ${hostOf(target)}:${target.port}`);
    });
  }

  async counts(): Promise<MeshCounts> {
    return new Map(
      await Promise.all(
        SIDECARS.map(async (workload) => [workload, parseCounts(await this.#stats(workload, STATS_FILTER))] as const),
      ),
    );
  }

  background(): ReturnType<MeshUnderTest['background']> {
    const { totals, failures } = this.#options.record;
    return { totals, failures };
  }

  /** Gives the name of the policy, which may be gone already. */
  async #delete({ namespace, name }: Extract<Change, { readonly type: 'delete' }>): Promise<string> {
    const { host, policyTool } = this.#options;
    const ref: ObjectRef = { kind: kindsFor(host.names).policy, namespace, name };
    await policyTool.delete(ref);
    return describeRef(ref);
  }

  /** Gives the objects as they are stored. */
  async #apply(file: string): Promise<readonly KubeObject[]> {
    const { lab, host, policies, policyTool } = this.#options;
    const { cwd, stdin, names } = host;
    const path = `${policies}/${file}`;
    const manifests = await readManifests([path], { kinds: kindsFor(names), namespace: 'default', cwd, stdin });
    await policyTool.apply(manifests, path);
    return Promise.all(manifests.map((manifest) => lab.store.get(refOf(manifest))));
  }

  async #waitForAcknowledgement(wanted: Wanted): Promise<void> {
    const proxies = await this.#proxies();
    let sequence: number | undefined;
    await this.#poll('the change has not reached', async () => {
      sequence ??= sequenceWith(await this.#page('/debug/snapshotz'), wanted);
      if (sequence === undefined) return ['pilot-discovery'];
      return proxiesBehind(await this.#page('/debug/syncz'), proxies, sequence);
    });
  }

  /** `pod.namespace` of every pod with a sidecar. */
  async #proxies(): Promise<readonly string[]> {
    const { lab, host } = this.#options;
    const pods = await lab.store.list(kindsFor(host.names).pod);
    const injected = pods.filter(({ metadata }) => metadata.annotations?.[`sidecar.${host.names.domain}/status`] !== undefined);
    return injected.map(({ metadata }) => `${metadata.name}.${metadata.namespace}`);
  }

  async #page(path: string): Promise<unknown> {
    const { stdout } = await this.#options.lab.execOnNode(['curl', '-s', '--max-time', '5', `${DISCOVERY}${path}`]);
    try {
      return JSON.parse(stdout);
    } catch {
      // A control plane that starts again has no pages for a moment; the next look will tell.
      return undefined;
    }
  }

  async #stats(workload: string, filter: string): Promise<string> {
    const { stdout } = await this.#exec(workload, [
      'curl',
      '-sG',
      '--max-time',
      '5',
      '--data-urlencode',
      `filter=${filter}`,
      `${ADMIN}/stats`,
    ]);
    return stdout;
  }

  #exec(target: string, command: readonly string[], input?: string): ReturnType<Lab['exec']> {
    const { lab, host } = this.#options;
    return lab.exec(target, command, { input, signal: host.signal });
  }

  /** Until nobody is behind any more. */
  async #poll(what: string, behind: () => Promise<readonly string[]>): Promise<void> {
    const { host } = this.#options;
    const deadline = host.now().getTime() + IN_FORCE_TIMEOUT;
    for (;;) {
      const names = await behind();
      if (names.length === 0) return;
      if (host.now().getTime() > deadline) {
        throw new MeshError('deadline_exceeded', `after ${formatDuration(IN_FORCE_TIMEOUT)} ${what}: ${names.join(', ')}`);
      }
      await delay(POLL_MS, undefined, { signal: host.signal });
    }
  }
}

/** Changes the objects of a lab that is its own cluster. */
export function storedPolicies(lab: Lab): PolicyTool {
  return {
    apply: (manifests) => lab.apply(manifests, () => {}),
    delete: (policy) =>
      lab.store.delete(policy).catch((error: unknown) => {
        if (MeshError.from(error).code !== 'not_found') throw error;
      }),
  };
}

/** Has the token issuer of the lab mint every kind of token. */
export async function mintTokens(lab: Lab, signal: AbortSignal): Promise<ReadonlyMap<MintedToken, string>> {
  const minted = Object.entries(TOKEN_QUERIES).map(async ([name, query]) => {
    const { code, stdout } = await lab.exec(
      `${CLIENT}.legacy`,
      ['curl', '-sSf', '--max-time', '10', `http://jwks.auth:8000/token?${query}`],
      { signal },
    );
    if (code !== 0) throw new MeshError('unavailable', `jwks.auth minted no token (${name}): curl exit ${code}`);
    return [name as MintedToken, stdout] as const;
  });
  return new Map(await Promise.all(minted));
}

export function describeChange(change: Change): string {
  return change.type === 'apply' ? `apply ${change.file}` : `delete Policy ${change.namespace}/${change.name}`;
}

function authPolicyOf(configMap: KubeObject): string {
  const parsed = parseMeshConfig(stringMapOf(configMap['data'])['mesh'] ?? '');
  if (!parsed.ok) throw new MeshError('invalid', `${describeObject(configMap)} is not a mesh configuration`);
  return parsed.value.authPolicy;
}
