import type { UserSpec } from './pod-spec.ts';

/** What a container may do by default, as with Docker. */
const DEFAULT_CAPABILITIES = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'NET_RAW',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
];

/**
 * The arguments of setpriv(1) that give a process a container's user, group and capabilities. Without root there is only
 * user 0, so that `rootless` leaves ids alone.
 */
export function setprivArguments(user: UserSpec, rootless: boolean): readonly string[] {
  const uid = user.uid ?? 0;
  const ids = rootless ? [] : ['--reuid', `${uid}`, '--regid', `${user.gid ?? uid}`, ...groupArguments(user.groups)];
  if (user.privileged) return ids;
  const granted = capabilitiesOf(user);
  const bounding = ['--bounding-set', ['-all', ...granted.map((name) => `+${name}`)].join(',')];
  const added = uid === 0 || rootless ? [] : granted.filter((name) => user.addCapabilities.includes(name.toUpperCase()));
  if (added.length === 0) return [...ids, ...bounding, '--inh-caps', '-all'];
  const inherited = ['-all', ...added.map((name) => `+${name}`)].join(',');
  return [...ids, ...bounding, '--inh-caps', inherited, '--ambient-caps', inherited];
}

function groupArguments(groups: readonly number[]): readonly string[] {
  return groups.length === 0 ? ['--clear-groups'] : ['--groups', groups.join(',')];
}

function capabilitiesOf({ addCapabilities, dropCapabilities }: UserSpec): readonly string[] {
  const kept = dropCapabilities.includes('ALL') ? [] : DEFAULT_CAPABILITIES.filter((name) => !dropCapabilities.includes(name));
  const granted = new Set([...kept, ...addCapabilities.filter((name) => name !== 'ALL')]);
  return [...granted].map((name) => name.toLowerCase()).sort();
}
