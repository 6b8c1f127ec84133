import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import type { initFlags } from './flags.ts';
import { openIptables, type RunProgram, runProgram } from './iptables.ts';
import { addInboundSource, ipv6State, removeInboundSource } from './ipv6.ts';
import { type Family, findOwnRules, INBOUND_SOURCE, redirectionRules, removalRules, type SavedRules } from './rules.ts';
import { parseSettings, type RedirectionSettings } from './settings.ts';

const FAMILIES: readonly Family[] = ['ipv4', 'ipv6'];
const NOTHING_FOUND: SavedRules = { chains: [], jumps: [] };

/**
 * Redirects the connections of the current network namespace to the proxy, or with --clean removes the redirection.
 * @throws MeshError `usage` for a bad flag, otherwise what iptables says.
 */
export async function run(invocation: Invocation<typeof initFlags>, host: Host): Promise<number> {
  const settings = parseSettings(invocation.options);
  if (!settings.ok) throw new MeshError('usage', settings.problems.map(formatProblem).join('; '));
  const print = (line: string) => host.stdout.write(`${line}\n`);
  if (invocation.options['dry-run']) {
    for (const family of FAMILIES) print(dryRun(settings.value, family, invocation.options.clean));
    return 0;
  }
  for (const family of await families(print)) {
    print(invocation.options.clean ? await clean(family, runProgram) : await redirect(settings.value, family, runProgram));
  }
  return 0;
}

/** The families to care for; what has no address yet is redirected all the same, as it may get one. */
async function families(print: (line: string) => void): Promise<readonly Family[]> {
  if ((await ipv6State()) !== 'absent') return FAMILIES;
  print('ipv6: the kernel has none, nothing to do');
  return ['ipv4'];
}

async function redirect(settings: RedirectionSettings, family: Family, program: RunProgram): Promise<string> {
  try {
    const iptables = await openIptables(family, program);
    if (family === 'ipv6' && (await ipv6State()) === 'used') await addInboundSource(program);
    await iptables.restore(redirectionRules(settings, family, findOwnRules(await iptables.save())));
    return `${family}: redirected to ports ${settings.outboundPort} (outbound) and ${settings.inboundPort} (inbound)`;
  } catch (thrown) {
    const error = MeshError.from(thrown);
    // Without any IPv6 address there is nothing that could pass the proxy by.
    if (family === 'ipv6' && (await ipv6State()) === 'unused') return `ipv6: not in use here, not redirected (${error.message})`;
    throw new MeshError(error.code, `${family}: ${error.message}`, error);
  }
}

async function clean(family: Family, program: RunProgram): Promise<string> {
  const iptables = await openIptables(family, program).catch((thrown: unknown) => {
    const error = MeshError.from(thrown);
    if (error.code === 'not_found') return undefined;
    throw new MeshError(error.code, `${family}: ${error.message}`, error);
  });
  if (family === 'ipv6') await removeInboundSource(program);
  const rules = iptables === undefined ? undefined : removalRules(findOwnRules(await iptables.save()));
  if (iptables === undefined || rules === undefined) return `${family}: no redirection found`;
  await iptables.restore(rules);
  return `${family}: redirection removed`;
}

function dryRun(settings: RedirectionSettings, family: Family, cleaning: boolean): string {
  if (cleaning) return `# ${family}: removes the chains MESH_* and the rules that jump to them`;
  const address = family === 'ipv6' ? `# ip -6 address replace ${INBOUND_SOURCE.ipv6} dev lo\n` : '';
  return `# ${family === 'ipv4' ? 'iptables' : 'ip6tables'}-restore --noflush\n${address}${redirectionRules(settings, family, NOTHING_FOUND)}`;
}
