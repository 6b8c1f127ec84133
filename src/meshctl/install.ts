import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { MeshError } from '../lib/errors.ts';
import { buildInfo } from '../lib/version.ts';
import type { KubeObject } from '../model/object.ts';
import type { installFlags } from './flags.ts';
import { applyAll } from './install/apply.ts';
import { withCluster } from './install/cluster-client.ts';
import type { ClusterScope } from './install/leftovers.ts';
import { definitions, installationObjects } from './install/manifests.ts';
import { requireMixsUnused } from './install/mixs-in-use.ts';
import { requireNamespaceName } from './install/options.ts';
import { requireOwnWebhook } from './install/other-control-plane.ts';
import { isFailure, type ObjectOutcome, printObjects, printOutcomes } from './install/outcome.ts';
import { prune } from './install/prune.ts';
import { reportTo } from './install/report.ts';

type InstallInvocation = Invocation<typeof installFlags>;

/**
 * `meshctl install`: prints the manifests of the control plane, or CustomResourceDefinitions only; with `--apply` brings them into
 * a cluster. Exit code 1 if an object was refused or left because of a conflict.
 */
export async function runInstall(invocation: InstallInvocation, host: Host): Promise<number> {
  requireApply(invocation);
  const { options } = invocation;
  requireNamespaceName(options.namespace);
  const image = options.image || `mesh/mesh:${buildInfo.version}`;
  const objects = options.crds
    ? definitions({ names: host.names, mixs: options.mixs })
    : installationObjects({
        names: host.names,
        namespace: options.namespace,
        image,
        replicas: options.replicas,
        mixs: options.mixs,
        defaultRules: options['default-rules'],
      });
  if (options.apply) return apply(objects, invocation, host);
  host.stdout.write(printObjects(objects, options.output));
  return 0;
}

async function apply(objects: readonly KubeObject[], { options, given }: InstallInvocation, host: Host): Promise<number> {
  const { namespace } = options;
  const { signal, names } = host;
  const dryRun = options['dry-run'] === 'server';
  const asText = !given.has('output');
  const report = reportTo(host, { silent: !asText, suffix: dryRun ? ' (server dry run)' : '' });
  const outcomes = await withCluster(options.orchconfig, host, async (client) => {
    const wait = options.wait ? options.timeout : undefined;
    if (!options.crds) await requireInstallable(options, { client, names, namespace, signal });
    const applied = await applyAll(objects, { client, forceConflicts: options['force-conflicts'], dryRun, wait, report, signal });
    if (options.crds || applied.some(({ outcome }) => outcome.type === 'failed')) return applied;
    return [...applied, ...(await prune(objects, { client, names, namespace, dryRun, report, signal }))];
  });
  if (!asText) host.stdout.write(printOutcomes(outcomes, options.output));
  const untried = objects.length - countOf(outcomes, objects);
  if (untried > 0) host.stderr.write(`error: ${untried} objects that need what failed were not tried\n`);
  return outcomes.some(isFailure) ? 1 : 0;
}

/** Before anything is changed. */
async function requireInstallable(options: InstallInvocation['options'], scope: ClusterScope): Promise<void> {
  if (!options['force-conflicts']) await requireOwnWebhook(scope);
  if (options.mixs === 'none') await requireMixsUnused(scope);
}

function countOf(outcomes: readonly ObjectOutcome[], objects: readonly KubeObject[]): number {
  return Math.min(outcomes.length, objects.length);
}

const ONLY_WITH_APPLY = ['dry-run', 'force-conflicts', 'orchconfig', 'timeout', 'wait'] as const;

/** What only a cluster can do is not silently left out where there is none. */
function requireApply({ options, given }: InstallInvocation): void {
  const stray = ONLY_WITH_APPLY.find((flag) => given.has(flag));
  if (options.apply || stray === undefined) return;
  throw new MeshError('usage', `--${stray} needs --apply beside it: without it, the objects are only printed`);
}
