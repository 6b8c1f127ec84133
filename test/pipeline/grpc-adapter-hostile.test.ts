import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import {
  CreateSessionRequest,
  CreateSessionResponse,
  HandleCheckRequest,
  HandleCheckResponse,
  HandleReportRequest,
  HandleReportResponse,
} from '#gen/mesh/adapter/v1/adapter.ts';
import { createHealthService, type HealthService } from '../../src/io/grpc/health.ts';
import { createGrpcServer } from '../../src/io/grpc/server.ts';
import { type Codec, type GrpcServer, type Method, unary } from '../../src/io/grpc/types.ts';
import { MeshError } from '../../src/lib/errors.ts';
import type { CheckResult, Handler } from '../../src/mixs/adapter/adapter.ts';
import { openGrpcAdapter } from '../../src/mixs/adapter/grpcadapter.ts';
import type { HandlerCondition } from '../../src/mixs/adapter/handler-conditions.ts';
import { grpcadapter } from '../../src/rules/adapter/grpcadapter.ts';
import { adapterEnvironment, type TestEnvironment } from '../fakes/adapter-environment.ts';
import { MemoryLogger } from '../fakes/memory-logger.ts';

const POLL_MS = 10;
/** Whatever a test gives, as bytes of a message. */
const BYTES: Codec<Uint8Array> = { encode: (bytes) => ({ finish: () => bytes }), decode: (bytes) => bytes };

const METRIC = {
  template: 'metric',
  values: { name: 'size.metric.ns', value: { type: 'INT64', value: 1n }, dimensions: {}, monitoredResourceDimensions: {} },
} as const;

/** Adapters that do not do as they should; a server of the test's own, for the sample does. */
describe('a gRPC adapter that cannot be trusted', function () {
  this.timeout(120_000);
  let server: GrpcServer;
  let methods: readonly Method[];
  let health: HealthService;
  let handler: Handler;
  let environment: TestEnvironment;
  let sessions: number;
  let createSession: () => Promise<CreateSessionResponse>;
  let check: (request: HandleCheckRequest) => Promise<Uint8Array>;
  let report: (request: HandleReportRequest) => Promise<HandleReportResponse>;

  const admits = (): Uint8Array => HandleCheckResponse.encode(HandleCheckResponse.fromPartial({})).finish();

  beforeEach(async () => {
    sessions = 0;
    createSession = async () => ({ sessionId: `session ${++sessions}` });
    check = async () => admits();
    report = async () => ({ rejected: 0 });
    health = createHealthService();
    health.set('', 'serving');
    const path = (method: string): string => `/mesh.adapter.v1.Adapter/${method}`;
    methods = [
      // No ValidateSession and no CloseSession: it may do without them.
      unary(path('CreateSession'), CreateSessionRequest, CreateSessionResponse, () => createSession()),
      unary(path('HandleCheck'), HandleCheckRequest, BYTES, (request) => check(request)),
      unary(path('HandleReport'), HandleReportRequest, HandleReportResponse, (request) => report(request)),
      ...health.methods,
    ];
    server = createGrpcServer({ methods }, new MemoryLogger());
    await server.listen({ host: '127.0.0.1', port: 0 });
  });

  afterEach(async () => {
    await handler.close(AbortSignal.timeout(5_000));
    environment.end();
    await server.close(0);
  });

  function open(spec: object = {}): void {
    const parsed = grpcadapter.parse(
      {
        address: `127.0.0.1:${server.port}`,
        templates: ['listentry', 'metric'],
        deadline: '5s',
        healthCheckInterval: '20ms',
        flushInterval: '10ms',
        ...spec,
      },
      [],
    );
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    environment = adapterEnvironment(undefined, () => performance.now());
    handler = openGrpcAdapter(parsed.value, environment);
  }

  async function ask(): Promise<CheckResult> {
    const values = { name: 'who.listentry.ns', value: 'alice' };
    const answer = await handler.check?.({ template: 'listentry', values }, { signal: environment.signal });
    if (answer === undefined) throw new Error('there is no answer');
    return answer;
  }

  function condition(): HandlerCondition {
    const found = environment.conditions.of(environment.handler);
    if (found === undefined) throw new Error('the handler shows nothing');
    return found;
  }

  async function until(is: (condition: HandlerCondition) => boolean): Promise<void> {
    while (!is(condition())) await sleep(POLL_MS);
  }

  for (const [what, answer] of Object.entries({
    'a message that is none': Buffer.from('ff', 'hex'),
    'a message that is too long': Buffer.alloc(100_000, 0),
    'a duration below zero': HandleCheckResponse.encode(
      HandleCheckResponse.fromPartial({ validDuration: { seconds: -1 } }),
    ).finish(),
  })) {
    it(`does not admit by ${what}, which opens the circuit when it goes on`, async () => {
      check = async () => answer;
      open({ circuitBreaker: { consecutiveFailures: 2, openDuration: '5m' } });
      const refused = { status: { code: 14, message: 'the adapter gives no decision' }, validMs: 0, validUses: 0 };
      expect(await ask()).to.deep.equal(refused);
      expect(await ask()).to.deep.equal(refused);
      expect(condition().circuit).to.equal('open');
      check = () => Promise.reject(new Error('nobody is to be asked'));
      expect(await ask()).to.deep.equal(refused);
    });
  }

  for (const code of ['not_found', 'failed_precondition'] as const) {
    it(`is given a new session when it answers ${code}, and the call once more`, async () => {
      open();
      await until(({ session }) => session === 'open');
      const asked: string[] = [];
      check = async ({ sessionId }) => {
        asked.push(sessionId);
        if (sessionId === 'session 1') throw new MeshError(code, 'what session?');
        return admits();
      };
      expect((await ask()).status.code).to.equal(0);
      expect(asked).to.deep.equal(['session 1', 'session 2']);
      check = async ({ sessionId }) => {
        asked.push(sessionId);
        throw new MeshError(code, 'what session?');
      };
      expect((await ask()).status.code).to.equal(14);
      expect(asked.slice(2)).to.deep.equal(['session 2', 'session 3']);
    });
  }

  it('may be behind a socket of the machine', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'grpc-adapter-'));
    const path = join(directory, 'adapter.sock');
    const local = createGrpcServer({ methods }, new MemoryLogger());
    await local.listen({ path });
    try {
      open({ address: `unix:${path}` });
      expect((await ask()).status.code).to.equal(0);
    } finally {
      await local.close(0);
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it('opens one session for many that wait for it', async () => {
    open();
    const answers = await Promise.all(Array.from({ length: 50 }, ask));
    expect(new Set(answers.map(({ status }) => status.code))).to.deep.equal(new Set([0]));
    expect(sessions).to.equal(1);
  });

  it('gets no calls with an id that is none', async () => {
    createSession = async () => ({ sessionId: 'x'.repeat(257) });
    open();
    expect((await ask()).status.code).to.equal(14);
    expect(condition()).to.include({ session: 'none' });
    expect(condition().trouble).to.include('a session id of 257 bytes');
  });

  it('is not called while it says that it is not serving, and again when it does', async () => {
    open();
    expect((await ask()).status.code).to.equal(0);
    health.set('', 'not_serving');
    await until(({ health: now }) => now === 'not serving');
    check = () => Promise.reject(new Error('nobody is to be asked'));
    expect((await ask()).status.code).to.equal(14);
    expect(condition().trouble).to.equal('it says that it is not serving');
    check = async () => admits();
    health.set('', 'serving');
    await until(({ health: now }) => now === 'serving');
    expect((await ask()).status.code).to.equal(0);
    expect(condition()).to.include({ circuit: 'closed', trouble: undefined });
  });

  it('may call single calls wrong without being called less', async () => {
    open({ circuitBreaker: { consecutiveFailures: 1 } });
    check = () => Promise.reject(new MeshError('invalid', 'no such user'));
    expect((await ask()).status.code).to.equal(14);
    expect(condition()).to.include({ circuit: 'closed', failures: 1, trouble: undefined });
  });

  for (const code of ['unavailable', 'cancelled', 'deadline_exceeded', 'resource_exhausted'] as const) {
    it(`gets reports again that it has answered with ${code}`, async () => {
      let times = 0;
      report = async () => {
        times++;
        if (times === 1) throw new MeshError(code, 'not now');
        return { rejected: 0 };
      };
      open();
      await until(({ session }) => session === 'open');
      await handler.report?.([METRIC], { signal: environment.signal });
      while (times < 2) await sleep(POLL_MS);
      expect(environment.losses.size).to.equal(0);
    });
  }

  it('has reports counted as lost that it rejects, and never more than there were', async () => {
    const taken: number[] = [];
    report = async ({ instances }) => {
      taken.push(instances.length);
      return { rejected: 1_000 };
    };
    open();
    await until(({ session }) => session === 'open');
    await handler.report?.([METRIC, METRIC], { signal: environment.signal });
    while (environment.losses.size === 0) await sleep(POLL_MS);
    expect(taken).to.deep.equal([2]);
    expect([...environment.losses]).to.deep.equal([['refused', 2]]);
  });
});
