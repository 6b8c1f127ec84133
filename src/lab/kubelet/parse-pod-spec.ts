import { seconds } from '../../lib/duration.ts';
import type { Parsed, Problem } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import { Fields } from './fields.ts';
import { parseHook } from './parse-hook.ts';
import { parseProbe } from './parse-probe.ts';
import { parseVolume } from './parse-volume.ts';
import type {
  ContainerPort,
  ContainerSpec,
  EnvFrom,
  EnvValue,
  EnvVar,
  PodSpec,
  RestartPolicy,
  UserSpec,
  VolumeMount,
} from './pod-spec.ts';

const RESTART_POLICIES: readonly RestartPolicy[] = ['Always', 'OnFailure', 'Never'];

/** Reads the spec of a Pod object, collecting every problem. */
export function parsePodSpec(pod: KubeObject): Parsed<PodSpec> {
  const problems: Problem[] = [];
  const spec = new Fields(pod['spec'], 'spec', problems);
  const podUser = userOf(spec.object('securityContext'), undefined);
  const container = (fields: Fields): ContainerSpec => parseContainer(fields, podUser);
  const value: PodSpec = {
    initContainers: spec.list('initContainers').map(container),
    containers: spec.list('containers').map(container),
    volumes: spec.list('volumes').map(parseVolume),
    serviceAccountName: spec.string('serviceAccountName') ?? 'default',
    restartPolicy: restartPolicyOf(spec),
    terminationGracePeriod: seconds(spec.integer('terminationGracePeriodSeconds') ?? 30),
    hostname: spec.string('hostname'),
    fsGroup: spec.object('securityContext').integer('fsGroup'),
  };
  if (value.containers.length === 0) spec.problem('containers', 'a pod needs at least one container');
  if (spec.boolean('hostNetwork') === true)
    spec.problem('hostNetwork', 'the lab gives every pod its own network; remove hostNetwork');
  checkNames(value, spec);
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
}

function checkNames(pod: PodSpec, spec: Fields): void {
  const volumes = new Set(pod.volumes.map(({ name }) => name));
  const seen = new Set<string>();
  for (const { name, volumeMounts } of [...pod.initContainers, ...pod.containers]) {
    if (seen.has(name)) spec.problem('containers', `two containers are named "${name}"`);
    seen.add(name);
    for (const { volume } of volumeMounts) {
      if (!volumes.has(volume))
        spec.problem('volumes', `container "${name}" mounts volume "${volume}", which the pod does not have`);
    }
  }
}

function restartPolicyOf(spec: Fields): RestartPolicy {
  const given = spec.string('restartPolicy') ?? 'Always';
  const known = RESTART_POLICIES.find((policy) => policy === given);
  if (known === undefined) spec.problem('restartPolicy', `"${given}" is none of ${RESTART_POLICIES.join(', ')}`);
  return known ?? 'Always';
}

function parseContainer(container: Fields, podUser: UserSpec): ContainerSpec {
  return {
    name: container.requiredString('name'),
    image: container.string('image') ?? '',
    command: container.strings('command'),
    args: container.strings('args') ?? [],
    workingDir: container.string('workingDir'),
    envFrom: container.list('envFrom').flatMap(parseEnvFrom),
    env: container.list('env').map(parseEnv),
    ports: container.list('ports').map(parsePort),
    volumeMounts: container.list('volumeMounts').map(parseMount),
    user: userOf(container.object('securityContext'), podUser),
    startupProbe: parseProbe(container.optionalObject('startupProbe')),
    livenessProbe: parseProbe(container.optionalObject('livenessProbe')),
    readinessProbe: parseProbe(container.optionalObject('readinessProbe')),
    postStart: parseHook(container.object('lifecycle').optionalObject('postStart')),
    preStop: parseHook(container.object('lifecycle').optionalObject('preStop')),
    sidecar: container.string('restartPolicy') === 'Always',
  };
}

function userOf(context: Fields, pod: UserSpec | undefined): UserSpec {
  const capabilities = context.object('capabilities');
  const names = (field: string): string[] =>
    (capabilities.strings(field) ?? []).map((name) => name.toUpperCase().replace(/^CAP_/, ''));
  return {
    uid: context.integer('runAsUser') ?? pod?.uid,
    gid: context.integer('runAsGroup') ?? pod?.gid,
    groups: pod?.groups ?? [context.integer('fsGroup') ?? []].flat(),
    addCapabilities: names('add'),
    dropCapabilities: names('drop'),
    privileged: context.boolean('privileged') ?? false,
  };
}

function parsePort(port: Fields): ContainerPort {
  const number = port.integer('containerPort') ?? 0;
  if (number < 1 || number > 65535) port.problem('containerPort', 'is not a port number from 1 to 65535');
  return { name: port.string('name'), port: number, protocol: port.string('protocol') ?? 'TCP' };
}

function parseMount(mount: Fields): VolumeMount {
  const path = mount.requiredString('mountPath');
  if (!path.startsWith('/')) mount.problem('mountPath', 'is not an absolute path');
  if (path.split('/').includes('..')) mount.problem('mountPath', 'must not contain ".."');
  const subPath = mount.string('subPath');
  if (subPath?.startsWith('/') || subPath?.split('/').includes('..')) mount.problem('subPath', 'must stay inside the volume');
  return { volume: mount.requiredString('name'), path, subPath, readOnly: mount.boolean('readOnly') ?? false };
}

function parseEnvFrom(from: Fields): EnvFrom[] {
  const prefix = from.string('prefix') ?? '';
  return (['configMap', 'secret'] as const).flatMap((source) => {
    const reference = from.optionalObject(`${source}Ref`);
    if (reference === undefined) return [];
    return [{ source, name: reference.requiredString('name'), prefix, optional: reference.boolean('optional') ?? false }];
  });
}

function parseEnv(env: Fields): EnvVar {
  return { name: env.requiredString('name'), value: parseEnvValue(env) };
}

function parseEnvValue(env: Fields): EnvValue {
  const from = env.optionalObject('valueFrom');
  if (from === undefined) return { type: 'literal', text: env.string('value') ?? '' };
  const field = from.optionalObject('fieldRef');
  if (field !== undefined) return { type: 'field', fieldPath: field.requiredString('fieldPath') };
  for (const type of ['configMap', 'secret'] as const) {
    const reference = from.optionalObject(`${type}KeyRef`);
    if (reference !== undefined) {
      return {
        type,
        name: reference.requiredString('name'),
        key: reference.requiredString('key'),
        optional: reference.boolean('optional') ?? false,
      };
    }
  }
  env.problem('valueFrom', 'the lab knows fieldRef, configMapKeyRef and secretKeyRef');
  return { type: 'literal', text: '' };
}
