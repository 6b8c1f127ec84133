import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import { createLogging, type LoggingOptions } from '../../../../src/io/log/winston.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { Redacted } from '../../../../src/lib/redacted.ts';

const DEFAULTS: LoggingOptions = {
  log_as_json: false,
  log_caller: '',
  log_output_level: 'default:info',
  log_rotate: '',
  log_rotate_max_age: 30,
  log_rotate_max_backups: 1000,
  log_rotate_max_size: 104_857_600,
  log_stacktrace_level: 'default:none',
  log_target: ['stdout'],
};
const NOW = new Date('2026-01-02T03:04:05.678Z');

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

async function open(options: Partial<LoggingOptions>) {
  const stdout = new Sink();
  const stderr = new Sink();
  const logging = await createLogging({ ...DEFAULTS, ...options }, { stdout, stderr, now: () => NOW });
  return { logging, log: logging.scope('default'), stdout, stderr };
}

async function refusal(options: Partial<LoggingOptions>): Promise<MeshError> {
  return MeshError.from(
    await open(options).then(
      () => undefined,
      (error: unknown) => error,
    ),
  );
}

describe('log', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-log-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('writes time, level, scope, message and fields', async () => {
    const { logging, log, stdout } = await open({});
    log.info('proxy connected', { id: 'sidecar~1', text: 'two words', count: 3, none: undefined });
    await logging.close();
    expect(stdout.text).to.equal(
      '2026-01-02T03:04:05.678Z\tinfo\tdefault\tproxy connected\tid=sidecar~1 text="two words" count=3 none=undefined\n',
    );
  });

  it('writes one JSON object a line, whose own names no field can take', async () => {
    const { logging, log, stdout } = await open({ log_as_json: true });
    log.warn('odd', { level: 'error', nested: { list: [1, 'a'], map: new Map([['k', 1n]]) } });
    await logging.close();
    expect(JSON.parse(stdout.text)).to.deep.equal({
      time: NOW.toISOString(),
      level: 'warn',
      scope: 'default',
      message: 'odd',
      nested: { list: [1, 'a'], map: { k: '1' } },
    });
  });

  for (const log_as_json of [false, true]) {
    it(`keeps secrets, bytes and forged lines out (${log_as_json ? 'JSON' : 'plain'})`, async () => {
      const { logging, log, stdout } = await open({ log_as_json });
      const cycle: { self?: unknown } = {};
      cycle.self = cycle;
      log.info('held\u001b[2J\n', {
        key: new Redacted('hunter2'),
        deep: { keys: [new Redacted('hunter2')] },
        der: Buffer.from('hunter2'),
        name: 'a\n2026-01-01\tinfo\tdefault\tforged\u001b[31m',
        error: new Error('outer', { cause: new Error('inner') }),
        cycle,
      });
      await logging.close();
      expect(stdout.text.trimEnd().split('\n')).to.have.length(1);
      expect(stdout.text).to.include('[redacted]').and.include('<7 bytes>').and.include('outer: inner').and.include('<cycle>');
      expect(stdout.text).not.to.include('hunter2');
      expect(stdout.text).not.to.include('\u001b');
    });
  }

  it('filters by the level of the scope, else of the default scope', async () => {
    const { logging, stdout } = await open({ log_output_level: 'default:warn,ads:debug,quiet:none' });
    for (const scope of ['default', 'ads', 'quiet', 'other']) {
      logging.scope(scope).debug('d');
      logging.scope(scope).warn('w');
      logging.scope(scope).error('e');
    }
    await logging.close();
    const lines = stdout.text
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t').slice(1, 3).join(' '));
    expect(lines).to.deep.equal([
      'warn default',
      'error default',
      'debug ads',
      'warn ads',
      'error ads',
      'warn other',
      'error other',
    ]);
  });

  it('takes a level alone for that of the default scope, and changes levels while running', async () => {
    const { logging, log, stdout } = await open({ log_output_level: 'error' });
    log.info('one');
    logging.setLevel('default:info');
    log.info('two');
    await logging.close();
    expect(stdout.text).to.include('two').and.not.include('one');
  });

  it('refuses a level that does not exist', async () => {
    expect(await refusal({ log_output_level: 'default:inof' })).to.include({
      code: 'usage',
      message:
        '--log_output_level: "default:inof" is not <scope>:<level> with a level of debug, info, warn, error, none; did you mean "info"?',
    });
    expect((await refusal({ log_stacktrace_level: ':info' })).message).to.match(/^--log_stacktrace_level: ":info"/);
  });

  it('names the caller for the scopes asked for', async () => {
    const { logging, log, stdout } = await open({ log_caller: 'default' });
    log.info('here');
    logging.scope('ads').info('there');
    await logging.close();
    const [here, there] = stdout.text.split('\n');
    expect(here).to.match(/caller=\S*winston\.test\.ts:\d+$/);
    expect(there).not.to.include('caller');
  });

  it('captures stack traces from the level asked for', async () => {
    const { logging, log, stdout } = await open({ log_as_json: true, log_stacktrace_level: 'default:error' });
    log.warn('w');
    log.error('e');
    await logging.close();
    const [warn, error] = stdout.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(warn).not.to.have.property('stack');
    expect(error.stack).to.match(/^ {4}at .*winston\.test\.ts/);
  });

  it('writes to every target, files readable by owner and group only', async () => {
    const file = join(dir, 'mesh.log');
    const { logging, log, stdout, stderr } = await open({ log_target: ['stdout', 'stderr', file, file] });
    for (let i = 0; i < 1000; i++) log.info('line', { i });
    await logging.close();
    expect(readFileSync(file, 'utf8').split('\n')).to.have.length(1001);
    expect(stdout.text).to.equal(readFileSync(file, 'utf8'));
    expect(stderr.text).to.equal(stdout.text);
    expect(statSync(file).mode & 0o007).to.equal(0);
  });

  it('says which file it cannot write', async () => {
    const error = await refusal({ log_target: [join(dir, 'none/mesh.log')] });
    expect(error.code).to.equal('failed_precondition');
    expect(error.message).to.match(/^--log_target: ".*none\/mesh\.log" cannot be written: ENOENT/);
    expect((await refusal({ log_rotate: dir })).message).to.match(/^--log_rotate: .* cannot be written: EISDIR/);
  });

  it('writes the rotating file beside the targets', async () => {
    const file = join(dir, 'mesh.log');
    const { logging, log, stdout } = await open({ log_rotate: file, log_rotate_max_size: 1, log_rotate_max_backups: 2 });
    for (let i = 0; i < 5; i++) log.info('x'.repeat(600_000));
    await logging.close();
    expect(stdout.text.split('\n')).to.have.length(6);
    expect(readdirSync(dir)).to.have.length(3);
  });
});
