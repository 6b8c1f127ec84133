/** A lab of a user without privileges: everything in it is real all the same. */
import { join } from 'node:path';
import { expect } from 'chai';
import { LabUnderTest, MANIFESTS, STRICT } from '../harness/lab-under-test.ts';
import { allowsUserNamespaces, type Unprivileged, unprivileged } from '../harness/unprivileged.ts';

describe('mesh lab without root', function () {
  this.timeout(240_000);
  let user: Unprivileged;
  let lab: LabUnderTest;

  before(async function () {
    // The kernel's administrator has forbidden it: there is nothing that the project could install.
    if (!allowsUserNamespaces()) this.skip();
    user = await unprivileged();
    lab = LabUnderTest.of(user, join(user.home, 'lab'));
  });

  after(async () => {
    await lab?.remove();
    await user?.remove();
  });

  it('runs pods with sidecars, and policies decide about their calls', async () => {
    const up = await lab.run('up');
    expect(up.code, up.stderr).to.equal(0);
    const applied = await lab.run('apply', '-f', await lab.file('mesh.yaml', MANIFESTS));
    expect(applied.code, applied.stderr).to.equal(0);
    await lab.eventually('200 0', 'sleep.legacy');
    await lab.eventually('200 0', 'sleep.foo');
    expect((await lab.meshctl('create', '-f', await lab.file('strict.yaml', STRICT))).code).to.equal(0);
    await lab.eventually('000 56', 'sleep.legacy');
    expect(await lab.call('sleep.foo')).to.equal('200 0');
  });

  it('shows the server who calls, over mutual TLS', async () => {
    const { stdout } = await lab.run('exec', 'sleep.foo', '--', 'curl', '-s', 'http://httpbin.foo:8000/headers');
    expect(stdout).to.contain('URI=spiffe://cluster.local/ns/foo/sa/default');
  });

  it('leaves nothing behind', async () => {
    expect((await lab.run('down')).code).to.equal(0);
    expect(await lab.processes('daemon')).to.deep.equal([]);
  });
});
