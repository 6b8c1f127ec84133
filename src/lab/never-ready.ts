import { type Duration, seconds } from '../lib/duration.ts';
import type { KubeObject } from '../model/object.ts';
import { TEMPLATE_HASH_LABEL, templateHashOf } from './controllers/deployment-plan.ts';
import { isOwnedBy, type PodView } from './controllers/pod-view.ts';
import { REFUSED } from './controllers/refusal.ts';
import { Fields } from './kubelet/fields.ts';
import { blockerOf, refusalOf } from './pod-readiness.ts';

/** Reasons that time does not cure: somebody must change the pod, or how the lab runs. */
const FINAL_REASONS: readonly string[] = ['InvalidSpec', 'NeedsRoot', 'ErrImageNeverPull', 'RunContainerError', REFUSED];

/**
 * So many failures of an init container in a row, some seven seconds, say that it will fail for ever. A container of the
 * application may wait for another one by failing until that is there: time alone decides about it.
 */
const INIT_FAILURES = 4;

/** What env(1) and shells say of a program that is missing or cannot be run. */
const NO_PROGRAM: readonly number[] = [126, 127];

/**
 * So long a verdict must stand before it is told: what an object says of itself may be from before the change that cures it,
 * until the lab has looked again.
 */
const STANDS_AFTER: Duration = seconds(1);

interface Verdict {
  /** Of the deployment or pod. */
  readonly uid: string;
  readonly line: string;
}

/** Tells which deployments and pods can never be ready, whatever one waits for. */
export class NeverReady {
  /** Restarts of each container when it was seen first: an earlier run of the lab may have counted some. */
  readonly #before = new Map<string, number>();
  /** Time in milliseconds of each verdict, by uid. */
  #since: ReadonlyMap<string, number> = new Map();

  /** One line each, with the reason; to be called with everything there is, again and again. `now` is in milliseconds. */
  among(deployments: readonly KubeObject[], pods: readonly PodView[], now: number): readonly string[] {
    const verdicts = [
      ...deployments.flatMap(deploymentVerdict),
      ...pods.filter((pod) => !isOutdated(pod, deployments)).flatMap((pod) => this.#podVerdict(pod)),
    ];
    this.#since = new Map(verdicts.map(({ uid }) => [uid, this.#since.get(uid) ?? now]));
    return verdicts.filter(({ uid }) => now - (this.#since.get(uid) ?? now) >= STANDS_AFTER).map(({ line }) => line);
  }

  #podVerdict(pod: PodView): readonly Verdict[] {
    const { uid = '' } = pod.object.metadata;
    const containers = containersOf(pod.object).map((each) => ({ ...each, restarts: this.#newRestarts(pod, each) }));
    const reasons = [...containers.map(({ waiting }) => waiting), ...conditionReasons(pod.object)];
    if (reasons.some((reason) => reason !== undefined && FINAL_REASONS.includes(reason))) return [{ uid, line: blockerOf(pod) }];
    const hopeless = containers.find(isHopeless);
    if (hopeless === undefined) return [];
    const printed = `what it printed: mesh lab logs ${pod.name}.${pod.namespace} -c ${hopeless.name}`;
    return [{ uid, line: `${blockerOf(pod)}; ${printed}` }];
  }

  #newRestarts(pod: PodView, { name, restarts }: ContainerState): number {
    const key = `${pod.object.metadata.uid}/${name}`;
    const before = this.#before.get(key) ?? restarts;
    this.#before.set(key, before);
    return restarts - before;
  }
}

interface ContainerState {
  readonly name: string;
  /** Has to end before the application starts; a native sidecar has not. */
  readonly initOnly: boolean;
  readonly waiting: string | undefined;
  readonly restarts: number;
  readonly lastExitCode: number | undefined;
}

function isHopeless({ waiting, lastExitCode, initOnly, restarts }: ContainerState): boolean {
  if (waiting !== 'CrashLoopBackOff') return false;
  return NO_PROGRAM.includes(lastExitCode ?? 0) || (initOnly && restarts + 1 >= INIT_FAILURES);
}

function deploymentVerdict(deployment: KubeObject): readonly Verdict[] {
  const refusal = refusalOf(deployment);
  const { uid = '', namespace, name } = deployment.metadata;
  return refusal === undefined ? [] : [{ uid, line: `deployment ${namespace}/${name}: ${refusal}` }];
}

/** Of an earlier template: it goes once a pod of the present one is ready. */
function isOutdated({ object, labels }: PodView, deployments: readonly KubeObject[]): boolean {
  const owner = deployments.find((deployment) => isOwnedBy(object, deployment));
  return owner !== undefined && labels[TEMPLATE_HASH_LABEL] !== templateHashOf(owner);
}

function containersOf(pod: KubeObject): readonly ContainerState[] {
  const status = new Fields(pod['status'], 'status', []);
  const sidecars = new Fields(pod['spec'], 'spec', [])
    .list('initContainers')
    .filter((container) => container.string('restartPolicy') === 'Always')
    .map((container) => container.string('name'));
  const read =
    (isInit: boolean) =>
    (container: Fields): ContainerState => {
      const name = container.string('name') ?? '';
      return {
        name,
        initOnly: isInit && !sidecars.includes(name),
        waiting: container.object('state').object('waiting').string('reason'),
        restarts: container.integer('restartCount') ?? 0,
        lastExitCode: container.object('lastState').object('terminated').integer('exitCode'),
      };
    };
  return [...status.list('initContainerStatuses').map(read(true)), ...status.list('containerStatuses').map(read(false))];
}

function conditionReasons(pod: KubeObject): readonly (string | undefined)[] {
  const status = new Fields(pod['status'], 'status', []);
  return status.list('conditions').map((condition) => condition.string('reason'));
}
