import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
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
const SCOPES = ['default', 'ads', 'quiet', 'other'] as const;
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
  const logging = await createLogging({ ...DEFAULTS, ...options }, { stdout, stderr, now: () => NOW }, SCOPES);
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
    for (const scope of SCOPES) {
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
    logging.scopes.set('default', { outputLevel: 'info' });
    log.info('two');
    await logging.close();
    expect(stdout.text).to.include('two').and.not.include('one');
  });

  const REFUSED: readonly (readonly [options: Partial<LoggingOptions>, message: string])[] = [
    [
      { log_output_level: 'default:inof' },
      '--log_output_level: "default:inof" is not <scope>:<level> with a level of debug, info, warn, error, none; did you mean "info"?',
    ],
    [
      { log_output_level: 'adz:debug' },
      '--log_output_level: there is no log scope "adz"; the scopes are default, ads, quiet, other; did you mean "ads"?',
    ],
    [{ log_output_level: '' }, '--log_output_level: "" is not <scope>:<level> with a level of debug, info, warn, error, none'],
    [
      { log_stacktrace_level: ':info' },
      '--log_stacktrace_level: there is no log scope ""; the scopes are default, ads, quiet, other',
    ],
    [
      { log_caller: 'default,quite' },
      '--log_caller: there is no log scope "quite"; the scopes are default, ads, quiet, other; did you mean "quiet"?',
    ],
  ];
  for (const [options, message] of REFUSED)
    it(`refuses ${JSON.stringify(options)}`, async () => {
      expect(await refusal(options)).to.include({ code: 'usage', message });
    });

  it('names the caller for the scopes asked for', async () => {
    const { logging, log, stdout } = await open({ log_caller: 'default' });
    log.info('here');
    logging.scope('ads').info('there');
    await logging.close();
    const [here, there] = stdout.text.split('\n');
    expect(here).to.match(/caller=log\/winston\.test\.ts:\d+$/);
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
    expect(error.message).to.equal(`--log_target: "${dir}/none/mesh.log" cannot be written: there is no directory ${dir}/none`);
    expect((await refusal({ log_rotate: dir })).message).to.match(/^--log_rotate: .* cannot be written: it is not a file/);
    expect((await refusal({ log_target: [dir] })).message).to.match(/^--log_target: .* cannot be written: EISDIR/);
    expect((await refusal({ log_target: [''] })).message).to.equal('--log_target: "" cannot be written: it has no name');
  });

  it('refuses a file that is to be rotated and to be appended to', async () => {
    const file = join(dir, 'mesh.log');
    expect(await refusal({ log_rotate: file, log_target: ['stdout', join(dir, '.', 'mesh.log')] })).to.include({ code: 'usage' });
  });

  it('writes the rotating file beside the targets', async () => {
    const file = join(dir, 'mesh.log');
    const { logging, log, stdout } = await open({ log_rotate: file, log_rotate_max_size: 1, log_rotate_max_backups: 2 });
    for (let i = 0; i < 400; i++) log.info('x'.repeat(16_000));
    await logging.close();
    expect(stdout.text.split('\n')).to.have.length(401);
    expect(readdirSync(dir)).to.have.length(4);
  });

  it('writes a burst at once, instead of holding it in memory', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage: () => void = runInNewContext('gc');
    const held = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed + process.memoryUsage().external;
    };
    const file = join(dir, 'mesh.log');
    const { logging, log } = await open({ log_target: [file] });
    const before = held();
    for (let i = 0; i < 30_000; i++) log.info('a line of a burst', { number: i, text: 'x'.repeat(100) });
    expect(held() - before).to.be.lessThan(16_000_000);
    expect(readFileSync(file, 'utf8').split('\n')).to.have.length(30_001);
    await logging.close();
  });

  it('drops what is logged after it was closed', async () => {
    const { logging, log, stdout } = await open({});
    await logging.close();
    log.error('too late');
    await logging.close();
    expect(stdout.text).to.equal('');
  });

  it('loses the fields that cannot be shown, never the line', async () => {
    const { logging, log, stdout } = await open({});
    log.info('odd', {
      get broken() {
        throw new Error('not here');
      },
    });
    await logging.close();
    expect(stdout.text).to.match(/\tinfo\tdefault\todd\tunprintable="not here"\n$/);
  });

  it('shows and changes levels, stack traces and callers while running', async () => {
    const { logging, stdout } = await open({ log_output_level: 'default:warn', log_caller: 'ads' });
    const ads = logging.scope('ads');
    expect(logging.scopes.list()[1]).to.deep.equal({
      name: 'ads',
      outputLevel: 'warn',
      stackTraceLevel: 'none',
      logCaller: true,
    });
    logging.scopes.set('default', { outputLevel: 'error' });
    ads.warn('follows default');
    logging.scopes.set('ads', { outputLevel: 'debug', stackTraceLevel: 'error', logCaller: false });
    ads.debug('one');
    ads.error('two');
    await logging.close();
    expect(stdout.text).not.to.include('follows').and.not.include('caller');
    expect(stdout.text).to.match(/\tone\n.*\ttwo\n {4}at /);
  });
});
