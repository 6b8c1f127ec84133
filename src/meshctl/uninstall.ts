import { createInterface } from 'node:readline';
import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import type { ObjectRef } from '../model/object.ts';
import type { uninstallFlags } from './flags.ts';
import { withCluster } from './install/cluster-client.ts';
import { isMixsAsked } from './install/mixs-in-use.ts';
import { requireNamespaceName } from './install/options.ts';
import { isFailure, type ObjectOutcome, printOutcomes } from './install/outcome.ts';
import { type PruneOptions, remove } from './install/prune.ts';
import { planRemoval, type Removal } from './install/removal.ts';
import { reportTo } from './install/report.ts';
import { typeName } from './resource-types.ts';

/**
 * `meshctl uninstall`: deletes the control plane of a namespace, webhook configurations first. Policies, configuration and the key of
 * the certificate authority stay unless told otherwise. Exit code 1 if something could not be deleted, or nobody agreed.
 */
export function runUninstall({ options }: Invocation<typeof uninstallFlags>, host: Host): Promise<number> {
  const { namespace, output, crds, purge, yes } = options;
  requireNamespaceName(namespace);
  const { signal, names } = host;
  const report = reportTo(host, { silent: output !== 'text', suffix: '' });
  return withCluster(options.orchconfig, host, async (client) => {
    const scope: PruneOptions = { client, names, namespace, dryRun: false, report, signal };
    const removal = await planRemoval(scope, { crds, purge });
    if (removal.deleted.length > 0 && (await isMixsAsked(scope))) host.stderr.write(`warning: ${ASKED}\n`);
    if (removal.deleted.length > 0 && !yes && !(await isAgreed(removal, host))) {
      host.stderr.write('error: nothing was changed; answer y, or give --yes where nobody can answer\n');
      return 1;
    }
    const outcomes = await carryOut(removal, scope);
    if (output !== 'text') host.stdout.write(printOutcomes(outcomes, output));
    else if (removal.deleted.length === 0) host.stdout.write(`nothing is installed in namespace ${namespace}\n`);
    else host.stderr.write('pods that have a sidecar keep it until they are made anew\n');
    return outcomes.some(isFailure) ? 1 : 0;
  });
}

const ASKED =
  'sidecars ask mixs before they let anything in, and refuse everything once it is gone; ' +
  'with disablePolicyChecks: true in the mesh configuration they do not';

async function carryOut({ deleted, kept }: Removal, scope: PruneOptions): Promise<readonly ObjectOutcome[]> {
  const outcomes: ObjectOutcome[] = [];
  for (const ref of deleted) outcomes.push(await remove(ref, scope));
  for (const { ref, reason } of kept) {
    const outcome = { type: 'kept', message: reason } as const;
    scope.report.done(ref, outcome);
    outcomes.push({ ref, outcome });
  }
  return outcomes;
}

async function isAgreed({ deleted }: Removal, { stdin, stderr, signal }: Host): Promise<boolean> {
  stderr.write(`to be deleted:\n${deleted.map((ref) => `  ${nameOf(ref)}\n`).join('')}go on? [y/N] `);
  const lines = createInterface({ input: stdin, signal });
  for await (const line of lines) return /^y(es)?$/i.test(line.trim());
  return false;
}

function nameOf({ kind, namespace, name }: ObjectRef): string {
  return `${typeName(kind)}/${name}${namespace === undefined ? '' : ` in namespace ${namespace}`}`;
}
