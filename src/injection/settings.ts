import type { Problem } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import {
  type Check,
  cidrList,
  firewallMark,
  hostAndPort,
  imageReference,
  ipAndPort,
  oneOf,
  orEmpty,
  portList,
  quantity,
  wholeNumber,
} from './setting-checks.ts';
import type { Labels } from './shape.ts';

/** One thing about a sidecar that the configuration sets for all pods, and that an annotation may set for one. */
interface SettingSpec {
  /** Default of the built-in configuration. */
  readonly default: string;
  /** Which annotation overrides it: `sidecar.<domain>/<name>`, `traffic.sidecar.<domain>/<name>`, or none. */
  readonly annotation: 'sidecar' | 'traffic' | 'none';
  readonly check: Check;
}

const spec = (annotation: SettingSpec['annotation'], fallback: string, check: Check): SettingSpec => ({
  default: fallback,
  annotation,
  check,
});

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'err', 'critical', 'off'];

/**
 * Every setting, with the texts it may have. Empty `includeOutboundIPRanges` and `includeInboundPorts` redirect nothing, `*`
 * everything; an empty resource asks for none.
 */
const SETTINGS = {
  proxyImage: spec('sidecar', 'mesh/proxy', imageReference),
  initImage: spec('none', 'mesh/proxy-init', imageReference),
  imagePullPolicy: spec('none', 'IfNotPresent', oneOf(['Always', 'IfNotPresent', 'Never'])),
  discoveryAddress: spec('sidecar', 'mesh-pilot.mesh-system:15007', hostAndPort),
  caAddress: spec('none', 'mesh-citadel.mesh-system:8060', hostAndPort),
  controlPlaneAuthPolicy: spec('sidecar', 'NONE', oneOf(['NONE', 'MUTUAL_TLS'])),
  logLevel: spec('sidecar', 'info', oneOf(LOG_LEVELS)),
  statsdUdpAddress: spec('sidecar', '', orEmpty(ipAndPort)),
  collectorBAddress: spec('sidecar', '', orEmpty(hostAndPort)),
  concurrency: spec('sidecar', '2', wholeNumber(0, 1024)),
  proxyCPU: spec('sidecar', '100m', quantity),
  proxyMemory: spec('sidecar', '128Mi', quantity),
  proxyCPULimit: spec('sidecar', '', quantity),
  proxyMemoryLimit: spec('sidecar', '', quantity),
  interceptionMode: spec('sidecar', 'REDIRECT', oneOf(['REDIRECT'])),
  includeOutboundIPRanges: spec('traffic', '*', cidrList('or *')),
  excludeOutboundIPRanges: spec('traffic', '', cidrList('only')),
  includeInboundPorts: spec('traffic', '*', portList('or *')),
  excludeInboundPorts: spec('traffic', '', portList('only')),
  excludeOutboundPorts: spec('traffic', '', portList('only')),
  rewriteAppHTTPProbers: spec('sidecar', 'true', oneOf(['true', 'false'])),
  // Tells the proxy's own connections where it has no user of its own, as in a user namespace that has only one.
  proxyMark: spec('none', '', firewallMark),
  mergeMetrics: spec('sidecar', 'true', oneOf(['true', 'false'])),
  // Kubernetes before 1.28 refuses or ignores such containers. `auto`: where the cluster, or a pod that has one of its own, shows that they work.
  nativeSidecar: spec('sidecar', 'auto', oneOf(['true', 'false', 'auto'])),
} satisfies Record<string, SettingSpec>;

export type SettingName = keyof typeof SETTINGS;

/** Every setting in its normal form: lists comma-separated without spaces. */
export type Settings = Readonly<Record<SettingName, string>>;

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

export const DEFAULT_SETTINGS = Object.fromEntries(SETTING_NAMES.map((name) => [name, SETTINGS[name].default])) as Settings;

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name);
}

/** Checks the text of a setting and gives its normal form; what is wrong with it goes into `problems` under `path`. */
export function checkSetting(name: SettingName, text: string, path: string, problems: Problem[]): string {
  const checked = SETTINGS[name].check(text.trim());
  if (checked.ok) return checked.value;
  problems.push({ path, message: `is ${JSON.stringify(text)}, but must be ${checked.expected}` });
  return text;
}

/**
 * The settings of one pod: the configuration's, overridden by the pod's annotations. An annotation below our prefixes that
 * nothing reads is a problem too: a misspelt `excludeInboundPorts` must not go unnoticed.
 */
export function settingsForPod(annotations: Labels, defaults: Settings, names: Names, problems: Problem[]): Settings {
  const known = new Map<string, SettingName>();
  for (const name of SETTING_NAMES) {
    const annotation = annotationOf(name, names);
    if (annotation !== undefined) known.set(annotation, name);
  }
  const settings: Record<SettingName, string> = { ...defaults };
  for (const [annotation, text] of Object.entries(annotations)) {
    const path = `annotation ${annotation}`;
    const name = known.get(annotation);
    if (name !== undefined) settings[name] = checkSetting(name, text, path, problems);
    else if (isOurs(annotation, names)) {
      problems.push({ path, message: `is unknown; the annotations are ${[names.injectAnnotation, ...known.keys()].join(', ')}` });
    }
  }
  return settings;
}

/** The annotation that overrides a setting; undefined where none does. */
export function annotationOf(name: SettingName, names: Names): string | undefined {
  switch (SETTINGS[name].annotation) {
    case 'sidecar':
      return `${names.sidecarPrefix}${name}`;
    case 'traffic':
      return `${names.trafficPrefix}${name}`;
    case 'none':
      return undefined;
  }
}

function isOurs(annotation: string, names: Names): boolean {
  if (annotation === names.injectAnnotation || annotation === names.statusAnnotation) return false;
  return annotation.startsWith(names.sidecarPrefix) || annotation.startsWith(names.trafficPrefix);
}
