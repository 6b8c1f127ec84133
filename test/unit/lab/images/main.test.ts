import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import image from '../../../../src/commands/lab/image.ts';
import { DEFAULT_DOMAIN, namesFor } from '../../../../src/lib/names.ts';

/** Runs `lab image`; `stop` is the signal that the process would get. */
function start(...argv: string[]) {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const stop = new AbortController();
  const host = {
    env: {},
    stdin: Readable.from([]),
    stdout,
    stderr,
    cwd: '/',
    signal: stop.signal,
    names: namesFor(DEFAULT_DOMAIN),
    now: () => new Date(),
  };
  const outcome = image.execute(argv, 'lab', host).finally(() => {
    stdout.end();
    stderr.end();
  });
  return { stdout, stderr, stop, outcome };
}

/** The ports that an image tells it listens on. */
async function portsOf(stdout: PassThrough, count: number): Promise<number[]> {
  const ports: number[] = [];
  for await (const line of createInterface({ input: stdout })) {
    ports.push(Number(/port (\d+)/.exec(line)?.[1]));
    if (ports.length === count) break;
  }
  return ports;
}

async function refusal(...argv: string[]): Promise<{ outcome: unknown; stderr: string }> {
  const running = start(...argv);
  const [outcome, stderr] = await Promise.all([running.outcome, text(running.stderr)]);
  return { outcome, stderr };
}

describe('lab image', () => {
  it('serves HTTP and raw TCP on all the ports it is given, until it is told to stop', async () => {
    const { stdout, stop, outcome } = start('httpbin', '--host=127.0.0.1', '--port=0', '--port=0', '--tcp-port=0');
    const [first, second, tcp = 0] = await portsOf(stdout, 3);
    for (const port of [first, second]) expect((await fetch(`http://127.0.0.1:${port}/status/418`)).status).to.equal(418);
    expect((await fetch(`http://127.0.0.1:${first}/status/x`)).status).to.equal(400);
    expect((await fetch(`http://127.0.0.1:${first}/none`)).status).to.equal(404);
    const socket = connect(tcp, '127.0.0.1');
    socket.end('\x00 raw \xff bytes', 'latin1');
    expect(Buffer.concat(await socket.toArray()).toString('latin1')).to.equal('\x00 raw \xff bytes');
    stop.abort();
    expect(await outcome).to.deep.equal({ kind: 'exit', code: 0 });
  });

  it('ends raw TCP connections when it stops', async () => {
    const { stdout, stop, outcome } = start('httpbin', '--host=127.0.0.1', '--tcp-port=0');
    const [tcp = 0] = await portsOf(stdout, 1);
    const socket = connect(tcp, '127.0.0.1');
    socket.on('error', () => {});
    socket.write('x');
    await once(socket, 'data');
    stop.abort();
    await Promise.all([outcome, once(socket, 'close')]);
  });

  it('says which port is in use, and lets go of the others', async () => {
    const running = start('httpbin', '--host=127.0.0.1', '--port=0');
    const [port] = await portsOf(running.stdout, 1);
    const { outcome, stderr } = await refusal('httpbin', '--host=127.0.0.1', '--port=0', `--port=${port}`);
    expect(outcome).to.deep.equal({ kind: 'exit', code: 1 });
    expect(stderr).to.contain(`cannot listen on 127.0.0.1:${port}: the address is in use`);
    running.stop.abort();
    await running.outcome;
  });

  it('mints tokens with the keys of a file', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'mesh-image-'));
    const keys = join(directory, 'keys.json');
    const running = start(
      'jwks',
      'mint',
      '--keys',
      keys,
      '--issuer',
      'http://me',
      '--audience',
      'a,b',
      '--subject',
      'bob',
      '--expires-in',
      '5m',
    );
    const [token] = await Promise.all([text(running.stdout), running.outcome]);
    const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect(payload).to.deep.include({ iss: 'http://me', aud: ['a', 'b'], sub: 'bob', exp: payload.iat + 300 });
    rmSync(directory, { recursive: true });
  });

  for (const [title, argv, message] of [
    ['an unknown image', ['httpbim'], 'did you mean "httpbin"'],
    ['a flag of another image', ['httpbin', '--keys=x'], '--keys is no flag of the image httpbin'],
    ['a port that is none', ['httpbin', '--port=http'], '"http" is not a port'],
    ['minting without keys', ['jwks', 'mint'], '--keys must name the file'],
    ['an unknown variant', ['jwks', 'mint', '--variant=odd'], 'odd'],
  ] as const) {
    it(`refuses ${title}`, async () => {
      const { outcome, stderr } = await refusal(...argv);
      expect(outcome).to.deep.equal({ kind: 'exit', code: 2 });
      expect(stderr).to.contain(message);
    });
  }
});
