import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { type ProcessLike, processHost } from '../../../src/io/process-host.ts';

function fakeProcess(env: Record<string, string> = {}) {
  const exits: number[] = [];
  const stdout = new EventEmitter();
  const told: string[] = [];
  const stderr = Object.assign(new EventEmitter(), { write: (text: string) => told.push(text) });
  const emitter = Object.assign(new EventEmitter(), {
    env,
    stdin: process.stdin,
    stdout,
    stderr,
    cwd: () => '/',
    exit: (code: number) => void exits.push(code),
    exitCode: undefined as number | undefined,
  });
  return { emitter, stdout, stderr, told, exits, like: emitter as unknown as ProcessLike };
}

describe('process host', () => {
  it('stops gracefully at the first signal and at once at a later one', () => {
    const { emitter, exits, like } = fakeProcess();
    let now = 0;
    const host = processHost(like, () => new Date(now));
    emitter.emit('SIGINT');
    expect(host.signal.aborted).to.equal(true);
    expect(exits).to.deep.equal([]);
    now = 1_000;
    emitter.emit('SIGTERM');
    expect(exits).to.deep.equal([143]);
  });

  it('takes a signal that arrives twice for one', () => {
    const { emitter, exits, like } = fakeProcess();
    let now = 0;
    processHost(like, () => new Date(now));
    emitter.emit('SIGINT');
    now = 20;
    emitter.emit('SIGINT');
    expect(exits).to.deep.equal([]);
  });

  it('goes on when its output cannot be written, says so once and fails in the end', () => {
    const { emitter, stdout, stderr, told, like } = fakeProcess();
    const host = processHost(like);
    for (let i = 0; i < 3; i++) stdout.emit('error', Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' }));
    stderr.emit('error', new Error('ENOSPC: no space left'));
    expect(host.signal.aborted).to.equal(false);
    expect(told).to.deep.equal(['error: standard output cannot be written, it is lost until it can: ENOSPC: no space left\n']);
    expect(emitter.exitCode).to.equal(1);
  });

  it('stops when nobody reads the output any more', () => {
    const { stdout, like } = fakeProcess();
    const host = processHost(like);
    stdout.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    expect(host.signal.aborted).to.equal(true);
  });

  it('takes the domain of names from MESH_DOMAIN', () => {
    expect(processHost(fakeProcess().like).names.authentication.group).to.equal('authentication.mesh.io');
    expect(processHost(fakeProcess({ MESH_DOMAIN: 'example.org' }).like).names.authentication.group).to.equal(
      'authentication.example.org',
    );
  });
});
