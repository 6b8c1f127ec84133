import { expect } from 'chai';
import fc from 'fast-check';
import validateSpec from '#schemas/policy-spec.js';
import install from '../../src/commands/meshctl/install.ts';
import { ApiError } from '../../src/io/kubernetes/api-error.ts';
import { isMapping } from '../../src/model/parse/object.ts';
import { withoutNulls } from '../../src/model/parse/policy-spec.ts';
import { checkSchema } from '../../src/model/parse/schema-problems.ts';
import { POLICY_SPEC } from '../../src/model/schema/policy.ts';
import { requireCluster, type TestCluster } from '../harness/cluster.ts';
import { runMeshctl } from '../harness/meshctl-run.ts';
import { eventually } from '../harness/sidecar.ts';

/** Not the one of the other tests on this cluster: their definitions of kinds are none of ours. */
const DOMAIN = 'schema.test';
const GROUP = `authentication.${DOMAIN}`;

/** Now and then something else stands where a value belongs, a field is missing, or there is one that nobody knows. */
function nearly<T>(value: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  const strange = fc.constantFrom<unknown>(null, 0, -1, 1.5, 70_000, '', 'text', true, [], {}, [null], [{}], { odd: 1 });
  return fc.oneof({ weight: 30, arbitrary: value as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: strange });
}

function nearlyObject(fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<unknown> {
  const known = fc.record(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, nearly(value)])), {
    requiredKeys: [],
  });
  const unknown = fc.constantFrom<object>({}, {}, {}, {}, {}, {}, {}, {}, {}, { odd: 1 }, { Name: 'a' });
  return nearly(fc.tuple(known, unknown).map(([object, more]) => ({ ...object, ...more })));
}

const list = (item: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> => nearly(fc.array(nearly(item), { maxLength: 2 }));
const word = fc.constantFrom('a', 'httpbin', 'a-b', '-a', 'a.b', 'A', 'x y', 'é', '\u{1f600}', 'a'.repeat(63), 'a'.repeat(64));
const uri = fc.constantFrom(
  'https://a.example',
  'http://a.example:80/x?y',
  'https://[::1]:8443/k',
  'https://a.example:0',
  'https://a b',
  'https://a.example/#f',
  'a.example',
);
const paths = list(nearlyObject({ exact: word, prefix: word, suffix: word, regex: word }));
const nearlySpec = nearlyObject({
  targets: list(
    nearlyObject({
      name: word,
      ports: list(nearlyObject({ number: fc.integer({ min: -1, max: 65_537 }), name: word })),
      labels: nearlyObject({ app: word }),
    }),
  ),
  peers: list(
    nearlyObject({ mtls: nearlyObject({ mode: fc.constantFrom('STRICT', 'PERMISSIVE', 'OFF'), allowTls: fc.boolean() }) }),
  ),
  peerIsOptional: fc.boolean(),
  origins: list(
    nearlyObject({
      jwt: nearlyObject({
        issuer: word,
        audiences: list(word),
        jwksUri: uri,
        jwks: word,
        jwtHeaders: list(word),
        jwtParams: list(word),
        triggerRules: list(nearlyObject({ excludedPaths: paths, includedPaths: paths })),
      }),
    }),
  ),
  originIsOptional: fc.boolean(),
  principalBinding: fc.constantFrom('USE_PEER', 'USE_ORIGIN', 'use_peer'),
});

describe('the schema of policies on an API server and the one of files', function () {
  this.timeout(120_000);
  let cluster: TestCluster;

  before(async function () {
    cluster = await requireCluster(this);
    const args = ['--crds', '--mixs', 'none', '--apply', '--orchconfig', cluster.kubeconfig];
    const { code, err } = await runMeshctl(install, args, { domain: DOMAIN });
    expect(code, err).to.equal(0);
    await eventually('the kinds are served', async () => (await refusalByServer({})) === undefined);
  });
  after(() => {
    cluster?.kubectl(['delete', 'crd', `policies.${GROUP}`, `meshpolicies.${GROUP}`, '--wait=false']);
  });

  /** The object as it would be stored. `Strict` is what kubectl asks for by default. */
  function tryAtServer(spec: unknown, fieldValidation: 'Strict' | 'Warn' = 'Strict'): Promise<unknown> {
    return cluster.client.request({
      method: 'POST',
      path: `/apis/${GROUP}/v1alpha1/namespaces/default/policies`,
      query: { dryRun: 'All', fieldValidation },
      what: 'try a policy',
      body: { apiVersion: `${GROUP}/v1alpha1`, kind: 'Policy', metadata: { name: 'tried' }, spec },
    });
  }

  /** Undefined: taken. */
  async function refusalByServer(spec: unknown): Promise<string | undefined> {
    try {
      await tryAtServer(spec);
      return undefined;
    } catch (error) {
      if (error instanceof ApiError) return error.message;
      throw error;
    }
  }

  function refusalByFiles(spec: unknown): string | undefined {
    if (!isMapping(spec)) return 'spec: required';
    const problems = checkSchema(validateSpec, POLICY_SPEC, withoutNulls(spec), 'spec');
    return problems.length === 0 ? undefined : JSON.stringify(problems);
  }

  async function expectAgreement(spec: unknown): Promise<void> {
    const [server, files] = [await refusalByServer(spec), refusalByFiles(spec)];
    const verdicts = `${JSON.stringify(spec)}: the API server says ${server ?? 'yes'}, files say ${files ?? 'yes'}`;
    expect(server === undefined, verdicts).to.equal(files === undefined);
  }

  const TABLE: readonly unknown[] = [
    {},
    null,
    undefined,
    [],
    'text',
    { peers: null },
    { peers: [] },
    { peers: [null] },
    { peers: [{}] },
    { peers: [{ mtls: null }] },
    { peers: [{ mtls: {} }] },
    { peers: [{ mtls: { mode: null } }] },
    { peers: [{ mtls: { mode: 'STRICT', allowTls: true } }] },
    { peers: [{ mtls: { mode: 'strict' } }] },
    { peers: [{ mtls: { allowTls: 'true' } }] },
    { peers: [{ mtls: { alowTls: true } }] },
    { peers: [{ jwt: { anything: [1, { goes: null }] } }] },
    { peers: { mtls: {} } },
    { peer: [] },
    { targets: [{}] },
    { targets: [{ name: null }] },
    { targets: [{ name: 'httpbin' }] },
    { targets: [{ name: '' }] },
    { targets: [{ name: 'Httpbin' }] },
    { targets: [{ name: 'httpbin.foo' }] },
    { targets: [{ name: 'a'.repeat(63) }] },
    { targets: [{ name: 'a'.repeat(64) }] },
    { targets: [{ name: 'a', labels: { app: 'x' } }] },
    { targets: [{ name: 'a', labels: { app: 1 } }] },
    { targets: [{ name: 'a', labels: { app: null } }] },
    { targets: [{ name: 'a', labels: null }] },
    { targets: [{ name: 'a', ports: [{ number: 0 }] }] },
    { targets: [{ name: 'a', ports: [{ number: 65535 }, { name: 'http' }] }] },
    { targets: [{ name: 'a', ports: [{ number: 65536 }] }] },
    { targets: [{ name: 'a', ports: [{ number: 80.5 }] }] },
    { targets: [{ name: 'a', ports: [{ number: '80' }] }] },
    { targets: [{ name: 'a', ports: [{ name: '' }] }] },
    { origins: [{}] },
    { origins: [{ jwt: null }] },
    { origins: [{ jwt: {} }] },
    { origins: [{ jwt: { issuer: 'i', jwksUri: 'https://a.example:8080/keys' } }] },
    { origins: [{ jwt: { issuer: 'i', jwksUri: 'https://a.example:65536/keys' } }] },
    { origins: [{ jwt: { issuer: 'i', jwksUri: 'ftp://a.example/keys' } }] },
    { origins: [{ jwt: { issuer: 'i', jwtHeaders: ['x-a', 'x b'] } }] },
    { origins: [{ jwt: { issuer: 'i', audiences: [''] } }] },
    { origins: [{ jwt: { issuer: 'i', triggerRules: [{ excludedPaths: [{ exact: '/a' }, { prefixx: '/' }] }] } }] },
    { principalBinding: 'USE_ORIGIN' },
    { principalBinding: 'USE_NOBODY' },
    { principalBinding: null },
    { originIsOptional: 'yes' },
  ];

  it('agree on a table of documents', async () => {
    const disagreements: string[] = [];
    for (const spec of TABLE) await expectAgreement(spec).catch((error: Error) => disagreements.push(error.message));
    expect(disagreements).to.deep.equal([]);
  });

  it('agree on whatever is nearly a policy', () =>
    fc.assert(fc.asyncProperty(nearlySpec, expectAgreement), { numRuns: 200, endOnFailure: true }));

  it('keep what says something by being named', async () => {
    const answer = await tryAtServer({ peers: [{ mtls: null }] });
    expect(answer).to.have.nested.property('spec.peers[0].mtls', null);
  });

  it('differ for clients that do not ask for strict fields: what is unknown is dropped, with a warning only', async () => {
    const answer = await tryAtServer({ peer: [] }, 'Warn');
    expect(answer).to.have.property('spec').deep.equal({});
  });
});
