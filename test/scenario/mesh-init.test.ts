import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { componentArguments } from '../harness/component-process.ts';

const exec = promisify(execFile);
const NODE = process.execPath;
const FOREIGN = '*nat\n:FOREIGN - [0:0]\n-A OUTPUT -d 192.0.2.1/32 -p tcp -j FOREIGN\n-A FOREIGN -j RETURN\nCOMMIT\n';

/** Listens on the given ports and answers every connection with its own port. */
const LISTENERS = `for (const [host, port] of JSON.parse(process.argv[1])) require('net').createServer((socket) => socket.end(String(port) + '\\n'))
  .listen({ host, port, ipv6Only: host === '::' }, () => process.stdout.write('listening\\n'));`;

/**
 * A pod (10.77.0.2, fd77::2) and a neighbour (10.77.0.1, fd77::1) in network namespaces of their own. The pod has listeners
 * where the proxy would be and one application; the neighbour has a server.
 */
class Pod {
  readonly name = `mesh-init-${process.pid}`;
  readonly peer = `mesh-init-${process.pid}-peer`;
  readonly #listeners: ChildProcess[] = [];

  async start(): Promise<void> {
    for (const name of [this.name, this.peer]) await exec('ip', ['netns', 'add', name]);
    await exec('ip', ['-n', this.name, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.peer]);
    for (const [name, last] of [
      [this.name, '2'],
      [this.peer, '1'],
    ] as const) {
      await exec('ip', ['-n', name, 'addr', 'add', `10.77.0.${last}/24`, 'dev', 'eth0']);
      await exec('ip', ['-n', name, 'addr', 'add', `fd77::${last}/64`, 'dev', 'eth0', 'nodad']);
      for (const link of ['lo', 'eth0']) await exec('ip', ['-n', name, 'link', 'set', link, 'up']);
    }
    await this.#listen(this.name, [15001, 15006, 8000, 9000, 15020]);
    await this.#listen(this.peer, [8000, 9000]);
  }

  async stop(): Promise<void> {
    for (const listener of this.#listeners) {
      listener.kill('SIGKILL');
      await once(listener, 'exit');
    }
    for (const name of [this.name, this.peer]) await exec('ip', ['netns', 'delete', name]).catch(() => {});
  }

  async #listen(namespace: string, ports: readonly number[]): Promise<void> {
    const addresses = ports.flatMap((port) => [
      ['0.0.0.0', port],
      ['::', port],
    ]);
    const child = spawn('ip', ['netns', 'exec', namespace, NODE, '-e', LISTENERS, JSON.stringify(addresses)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#listeners.push(child);
    let seen = '';
    for await (const chunk of child.stdout) {
      seen += chunk;
      if (seen.split('\n').length > addresses.length) return;
    }
    throw new Error(`the listeners of ${namespace} ended`);
  }

  /** Who answers a connection from a namespace, as the user given. */
  async answers(from: string, address: string, user = 0): Promise<string> {
    const [host = '', port = ''] = address.split(' ');
    const script = `require('net').connect({host: '${host}', port: ${port}}).on('error', (e) => console.log(e.code)).pipe(process.stdout)`;
    const { stdout } = await exec('ip', [
      'netns',
      'exec',
      from,
      'setpriv',
      `--reuid=${user}`,
      `--regid=${user}`,
      '--clear-groups',
      NODE,
      '-e',
      script,
    ]);
    return stdout.trim();
  }

  /** Who answers a connection whose packets carry a firewall mark. */
  async answersMarked(address: string, mark: number): Promise<string> {
    const [host = '', port = ''] = address.split(' ');
    const script = `import socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, 36, ${mark})
s.connect(('${host}', ${port}))
print(s.recv(100).decode())`;
    const { stdout } = await exec('ip', ['netns', 'exec', this.name, 'python3', '-c', script]);
    return stdout.trim();
  }

  async init(options: Readonly<Record<string, unknown>>): Promise<string> {
    const { stdout } = await exec('ip', [
      'netns',
      'exec',
      this.name,
      NODE,
      ...componentArguments('mesh-init', 'run', 'initFlags', options),
    ]);
    return stdout;
  }

  async rules(): Promise<string> {
    const saved = await Promise.all(
      ['iptables-save', 'ip6tables-save'].map((program) => exec('ip', ['netns', 'exec', this.name, program, '-t', 'nat'])),
    );
    return saved.flatMap(({ stdout }) => stdout.split('\n').filter((line) => !line.startsWith('#'))).join('\n');
  }

  async loopbackAddresses(): Promise<string> {
    return (await exec('ip', ['-n', this.name, '-6', 'addr', 'show', 'dev', 'lo'])).stdout;
  }
}

describe('traffic redirection in a network namespace', function () {
  this.timeout(120_000);
  const pod = new Pod();

  before(async function () {
    if (process.getuid?.() !== 0) this.skip();
    await pod.start();
  });
  after(() => pod.stop());

  it('sends outbound connections to the proxy, but not the ones of the proxy', async () => {
    await pod.init({});
    expect(await pod.answers(pod.name, '10.77.0.1 8000')).to.equal('15001');
    expect(await pod.answers(pod.name, 'fd77::1 8000')).to.equal('15001');
    expect(await pod.answers(pod.name, '10.77.0.1 8000', 1337)).to.equal('8000');
    expect(await pod.answers(pod.name, 'fd77::1 8000', 1337)).to.equal('8000');
  });

  it('sends inbound connections to the proxy, but not the health checks', async () => {
    await pod.init({});
    expect(await pod.answers(pod.peer, '10.77.0.2 8000')).to.equal('15006');
    expect(await pod.answers(pod.peer, 'fd77::2 8000')).to.equal('15006');
    expect(await pod.answers(pod.peer, '10.77.0.2 15020')).to.equal('15020');
  });

  it("leaves the application's loopback alone and takes the proxy to the inbound side of its own pod", async () => {
    await pod.init({});
    expect(await pod.answers(pod.name, '127.0.0.1 8000')).to.equal('8000');
    expect(await pod.answers(pod.name, '127.0.0.1 8000', 1337)).to.equal('8000');
    expect(await pod.answers(pod.name, '10.77.0.2 8000', 1337)).to.equal('15006');
    expect(await pod.answers(pod.name, 'fd77::2 8000', 1337)).to.equal('15006');
    expect(await pod.loopbackAddresses()).to.contain('::6/128');
  });

  it('exempts the proxy by mark where it cannot be told by its user', async () => {
    await pod.init({ 'proxy-mark': 1337 });
    expect(await pod.answers(pod.name, '10.77.0.1 8000', 1337)).to.equal('15001');
    expect(await pod.answersMarked('10.77.0.1 8000', 1337)).to.equal('8000');
    expect(await pod.answersMarked('10.77.0.2 8000', 1337)).to.equal('15006');
  });

  it('works for an unprivileged user in a user namespace, by mark only', async () => {
    const inside = (options: Readonly<Record<string, unknown>>) =>
      exec('unshare', [
        '--user',
        '--map-root-user',
        '--net',
        NODE,
        ...componentArguments('mesh-init', 'run', 'initFlags', options),
      ]).then(
        ({ stdout }) => stdout,
        (failed: { stderr: string }) => failed.stderr,
      );
    expect(await inside({ 'proxy-mark': 1337 })).to.contain('ipv4: redirected to ports 15001');
    expect(await inside({})).to.contain(
      'the proxy user does not exist in this user namespace, exempt the proxy with --proxy-mark instead',
    );
  });

  it('says what is missing where it is not permitted', async () => {
    const args = [
      '--reuid=65534',
      '--regid=65534',
      '--clear-groups',
      NODE,
      ...componentArguments('mesh-init', 'run', 'initFlags', {}),
    ];
    const failed = await exec('setpriv', args).catch((error: { code: number; stderr: string }) => error);
    expect(failed).to.include({ code: 1 });
    expect(failed.stderr).to.match(/^error: ipv4: .*NET_ADMIN/);
  });

  it('keeps to the ranges and ports it was given', async () => {
    await pod.init({
      'exclude-outbound-ranges': ['10.77.0.0/24'],
      'inbound-ports': ['9000'],
      'exclude-outbound-ports': ['9000'],
    });
    expect(await pod.answers(pod.name, '10.77.0.1 8000')).to.equal('8000');
    expect(await pod.answers(pod.name, 'fd77::1 8000')).to.equal('15001');
    expect(await pod.answers(pod.name, 'fd77::1 9000')).to.equal('9000');
    expect(await pod.answers(pod.peer, '10.77.0.2 8000')).to.equal('8000');
    expect(await pod.answers(pod.peer, '10.77.0.2 9000')).to.equal('15006');
  });

  it('makes the same rules when it runs again, whatever ran before', async () => {
    await pod.init({ 'exclude-outbound-ports': ['25'] });
    const once = await pod.rules();
    await pod.init({ 'include-outbound-ranges': ['10.0.0.0/8'] });
    await pod.init({ 'exclude-outbound-ports': ['25'] });
    await pod.init({ 'exclude-outbound-ports': ['25'] });
    expect(await pod.rules()).to.equal(once);
  });

  it('never leaves a moment without redirection while it runs again', async () => {
    await pod.init({});
    let running = true;
    const answers = new Set<string>();
    const probing = (async () => {
      while (running) answers.add(await pod.answers(pod.name, '10.77.0.1 8000'));
    })();
    for (let round = 0; round < 5; round++) await pod.init({});
    running = false;
    await probing;
    expect([...answers]).to.deep.equal(['15001']);
  });

  it('changes nothing on a dry run', async () => {
    const before = await pod.rules();
    expect(await pod.init({ 'dry-run': true, 'proxy-port': 16001 })).to.contain('--to-ports 16001');
    expect(await pod.rules()).to.equal(before);
  });

  it('removes all of its own and nothing else', async () => {
    await pod.init({ clean: true });
    const restore = spawn('ip', ['netns', 'exec', pod.name, 'iptables-restore', '--noflush'], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    restore.stdin.end(FOREIGN);
    await once(restore, 'exit');
    const before = await pod.rules();
    await pod.init({});
    expect(await pod.rules()).not.to.equal(before);
    await pod.init({ clean: true });
    expect(withoutEmptyTables(await pod.rules())).to.equal(withoutEmptyTables(before));
    expect(await pod.loopbackAddresses()).not.to.contain('::6/128');
    expect(await pod.init({ clean: true })).to.contain('no redirection found');
  });
});

/** iptables-save prints the built-in chains of a table once it was touched. */
const withoutEmptyTables = (rules: string): string =>
  rules
    .split('\n')
    .filter((line) => line.startsWith('-A') || /^:\S+ - /.test(line))
    .join('\n');
