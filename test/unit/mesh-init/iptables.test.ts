import { expect } from 'chai';
import { MeshError } from '../../../src/lib/errors.ts';
import { openIptables, type ProgramResult, type RunProgram } from '../../../src/mesh-init/iptables.ts';

const OK: ProgramResult = { code: 0, stdout: '', stderr: '' };
const failed = (stderr: string): ProgramResult => ({ code: 4, stdout: '', stderr });

/** Programs that answer as listed; others are not installed. */
const installed =
  (programs: Readonly<Record<string, ProgramResult>>): RunProgram =>
  async (program) => {
    const result = programs[program];
    if (result === undefined) throw new MeshError('not_found', `cannot run ${program}`);
    return result;
  };

const failureOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no failure',
    (thrown) => `${thrown.code}: ${thrown.message}`,
  );

describe('iptables', () => {
  it('says which package is missing', async () => {
    expect(await failureOf(openIptables('ipv6', installed({})))).to.equal(
      'not_found: ip6tables-restore is not installed; install the package iptables',
    );
  });

  it('names the capability that is missing', async () => {
    const run = installed({
      'iptables-save': failed('Could not fetch rule set generation id: Permission denied (you must be root)\n'),
    });
    expect(await failureOf(openIptables('ipv4', run))).to.match(/^permission_denied: .*Permission denied.*NET_ADMIN$/);
  });

  it('falls back to the one that works', async () => {
    const run = installed({
      'iptables-save': failed('Protocol not supported'),
      'iptables-legacy-save': OK,
      'iptables-legacy-restore': OK,
    });
    await (await openIptables('ipv4', run)).restore('*nat\nCOMMIT\n');
  });

  it('proposes the mark where the user namespace has no proxy user', async () => {
    const run = installed({
      'iptables-save': OK,
      'iptables-restore': failed('line 2: RULE_APPEND failed (Invalid argument): rule in chain X'),
    });
    const iptables = await openIptables('ipv4', run);
    const rules = '*nat\n-A X -m owner --uid-owner 1337 -j RETURN\nCOMMIT\n';
    expect(await failureOf(iptables.restore(rules))).to.match(/--proxy-mark instead$/);
  });
});
