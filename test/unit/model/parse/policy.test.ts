import { expect } from 'chai';
import { namesFor } from '../../../../src/lib/names.ts';
import type { KubeObject } from '../../../../src/model/object.ts';
import { parseMeshPolicy } from '../../../../src/model/parse/mesh-policy.ts';
import { parsePolicy, policyWarnings } from '../../../../src/model/parse/policy.ts';

const names = namesFor('mesh.io');

function policy(spec: unknown, rest: Readonly<Record<string, unknown>> = {}): KubeObject {
  return {
    apiVersion: 'authentication.mesh.io/v1alpha1',
    kind: 'Policy',
    metadata: { name: 'default', namespace: 'foo' },
    spec,
    ...rest,
  };
}

function problemsOf(object: KubeObject): readonly string[] {
  const parsed = object.kind === 'MeshPolicy' ? parseMeshPolicy(object, names) : parsePolicy(object, names);
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`);
}

const JWT = { issuer: 'https://issuer.example.com', jwksUri: 'https://issuer.example.com/keys' };

/** A valid policy with one origin, whose fields a row changes. */
const withJwt = (change: Readonly<Record<string, unknown>>): KubeObject => policy({ origins: [{ jwt: { ...JWT, ...change } }] });

describe('parsePolicy', () => {
  it('fills in every default', () => {
    expect(parsePolicy(policy({}), names)).to.deep.equal({
      ok: true,
      value: {
        scope: 'namespace',
        name: 'default',
        namespace: 'foo',
        creationTimestamp: '',
        resourceVersion: '',
        targets: [],
        mutualTls: undefined,
        peerIsOptional: false,
        origins: [],
        originIsOptional: false,
        principalBinding: 'USE_PEER',
      },
    });
  });

  it('reads every field', () => {
    const parsed = parsePolicy(
      policy({
        targets: [{ name: 'httpbin', ports: [{ number: 1234 }, { name: 'http' }], labels: { version: 'v1' } }, { name: 'other' }],
        peers: [{ mtls: { mode: 'PERMISSIVE' } }],
        peerIsOptional: true,
        origins: [
          {
            jwt: {
              ...JWT,
              audiences: ['a'],
              jwtHeaders: ['x-jwt'],
              jwtParams: ['t'],
              triggerRules: [
                { excludedPaths: [{ exact: '/health' }], includedPaths: [{ prefix: '/' }, { suffix: '.js' }, { regex: '/a.*' }] },
              ],
            },
          },
        ],
        originIsOptional: true,
        principalBinding: 'USE_ORIGIN',
      }),
      names,
    );
    expect(parsed.ok && parsed.value).to.deep.include({
      targets: [
        { name: 'httpbin', ports: [{ number: 1234 }, { name: 'http' }], labels: { version: 'v1' } },
        { name: 'other', ports: [], labels: {} },
      ],
      mutualTls: 'PERMISSIVE',
      peerIsOptional: true,
      origins: [
        {
          issuer: JWT.issuer,
          audiences: ['a'],
          jwks: { type: 'uri', uri: JWT.jwksUri },
          jwtHeaders: ['x-jwt'],
          jwtParams: ['t'],
          triggerRules: [
            {
              excludedPaths: [{ type: 'exact', value: '/health' }],
              includedPaths: [
                { type: 'prefix', value: '/' },
                { type: 'suffix', value: '.js' },
                { type: 'regex', value: '/a.*' },
              ],
            },
          ],
        },
      ],
      originIsOptional: true,
      principalBinding: 'USE_ORIGIN',
    });
  });

  const MODES = [
    [{ mtls: {} }, 'STRICT'],
    [{ mtls: null }, 'STRICT'],
    [{ mtls: { mode: 'STRICT' } }, 'STRICT'],
    [{ mtls: { mode: null } }, 'STRICT'],
    [{ mtls: { mode: 'PERMISSIVE' } }, 'PERMISSIVE'],
    [{ mtls: { allowTls: true } }, 'PERMISSIVE'],
    [{ mtls: { allowTls: false } }, 'STRICT'],
  ] as const;
  for (const [peer, mode] of MODES) {
    it(`takes the peer ${JSON.stringify(peer)} for ${mode}`, () => {
      const parsed = parsePolicy(policy({ peers: [peer, { mtls: { mode: 'PERMISSIVE' } }] }), names);
      expect(parsed.ok && parsed.value.mutualTls).to.equal(mode);
    });
  }

  for (const peers of [undefined, null, []]) {
    it(`takes the peers ${JSON.stringify(peers)} for none`, () => {
      const parsed = parsePolicy(policy({ peers }), names);
      expect(parsed).to.have.property('ok', true);
      expect(parsed.ok && parsed.value.mutualTls).to.equal(undefined);
    });
  }

  it('finds keys inline, at a URL, or at the issuer', () => {
    const jwks = '{"keys":[{"kty":"EC"}]}';
    const source = (jwt: unknown): unknown => {
      const parsed = parsePolicy(policy({ origins: [{ jwt }] }), names);
      return parsed.ok && parsed.value.origins[0]?.jwks;
    };
    expect(source({ issuer: 'me', jwks })).to.deep.equal({ type: 'inline', jwks });
    expect(source({ issuer: 'me', jwksUri: 'http://jwks.legacy:8000/keys' })).to.deep.equal({
      type: 'uri',
      uri: 'http://jwks.legacy:8000/keys',
    });
    expect(source({ issuer: 'https://a.b' })).to.deep.equal({ type: 'discovery', issuer: 'https://a.b' });
  });

  const REFUSED: readonly (readonly [string, KubeObject, readonly string[]])[] = [
    ['a misspelt field', policy({ peer: [] }), ['spec.peer: unknown field; did you mean "peers"?']],
    [
      'a field of another spelling',
      withJwt({ jwks_uri: 'x' }),
      ['spec.origins[0].jwt.jwks_uri: unknown field; did you mean "jwksUri"?'],
    ],
    [
      'a field at the wrong level',
      policy({}, { peers: [] }),
      ['peers: unknown field; known here: apiVersion, kind, metadata, spec, status'],
    ],
    ['no spec', policy(undefined), ['spec: required: a mapping; write `spec: {}` for a policy that requires nothing']],
    ['an empty spec line', policy(null), ['spec: required: a mapping; write `spec: {}` for a policy that requires nothing']],
    ['a peer that names no method', policy({ peers: [{}] }), ['spec.peers[0]: names no method; write `mtls: {}`']],
    ['a peer that is null', policy({ peers: [null] }), ['spec.peers[0]: must be a mapping']],
    [
      'a JWT peer',
      policy({ peers: [{ jwt: {} }] }),
      ['spec.peers[0].jwt: a peer cannot be authenticated by a token; list the issuer under spec.origins, or use `mtls: {}`'],
    ],
    [
      'a mode',
      policy({ peers: [{ mtls: { mode: 'STRIKT' } }] }),
      ['spec.peers[0].mtls.mode: must be STRICT or PERMISSIVE, not "STRIKT"; did you mean "STRICT"?'],
    ],
    [
      'a principal binding',
      policy({ principalBinding: 'USE_ORIGN' }),
      ['spec.principalBinding: must be USE_PEER or USE_ORIGIN, not "USE_ORIGN"; did you mean "USE_ORIGIN"?'],
    ],
    ['peers that are no list', policy({ peers: { mtls: {} } }), ['spec.peers: must be a list']],
    ['a target without a name', policy({ targets: [{ ports: [] }] }), ['spec.targets[0].name: required']],
    [
      'a target with a host name',
      policy({ targets: [{ name: 'httpbin.foo' }] }),
      ['spec.targets[0].name: must be the short name of a service in the namespace of the policy: a DNS label such as httpbin'],
    ],
    [
      'a port of neither kind',
      policy({ targets: [{ name: 'a', ports: [{}] }] }),
      ['spec.targets[0].ports[0]: give number or name'],
    ],
    [
      'a port of both kinds',
      policy({ targets: [{ name: 'a', ports: [{ number: 1, name: 'http' }] }] }),
      ['spec.targets[0].ports[0]: give only one of number or name, not number and name'],
    ],
    [
      'a port out of range',
      policy({ targets: [{ name: 'a', ports: [{ number: 70000 }] }] }),
      ['spec.targets[0].ports[0].number: must be a port number from 1 to 65535'],
    ],
    [
      'a port that is a text',
      policy({ targets: [{ name: 'a', ports: [{ number: '80' }] }] }),
      ['spec.targets[0].ports[0].number: must be a port number from 1 to 65535'],
    ],
    ['an origin without jwt', policy({ origins: [{}] }), ['spec.origins[0].jwt: required']],
    ['no issuer', policy({ origins: [{ jwt: { jwksUri: JWT.jwksUri } }] }), ['spec.origins[0].jwt.issuer: required']],
    ['an empty issuer', withJwt({ issuer: '' }), ['spec.origins[0].jwt.issuer: must not be empty: the `iss` that tokens carry']],
    ['an empty audience', withJwt({ audiences: [''] }), ['spec.origins[0].jwt.audiences[0]: must not be empty']],
    [
      'an empty header',
      withJwt({ jwtHeaders: [''] }),
      ['spec.origins[0].jwt.jwtHeaders[0]: must be the name of a header, such as x-jwt-assertion'],
    ],
    [
      'a header that is none',
      withJwt({ jwtHeaders: ['x jwt'] }),
      ['spec.origins[0].jwt.jwtHeaders[0]: must be the name of a header, such as x-jwt-assertion'],
    ],
    ['an empty parameter', withJwt({ jwtParams: [''] }), ['spec.origins[0].jwt.jwtParams[0]: must not be empty']],
    [
      'an issuer listed twice',
      policy({ origins: [{ jwt: JWT }, { jwt: JWT }] }),
      ['spec.origins[1].jwt.issuer: "https://issuer.example.com" is already at spec.origins[0].jwt.issuer; list an issuer once'],
    ],
    [
      'keys from two places',
      withJwt({ jwks: '{"keys":[{"kty":"EC"}]}' }),
      ['spec.origins[0].jwt.jwks: give jwksUri or jwks, not both'],
    ],
    [
      'inline keys that are none',
      policy({ origins: [{ jwt: { issuer: 'me', jwks: '{"keys":[]}' } }] }),
      ['spec.origins[0].jwt.jwks: must be a JSON Web Key Set: {"keys":[{"kty":...}]} with at least one key'],
    ],
    [
      'keys that cannot be discovered',
      policy({ origins: [{ jwt: { issuer: 'me@example.com' } }] }),
      [
        'spec.origins[0].jwt.jwksUri: required: the issuer "me@example.com" is not a URL that its keys could be discovered at; give jwksUri, or jwks',
      ],
    ],
    [
      'a match of two kinds',
      withJwt({ triggerRules: [{ excludedPaths: [{ exact: '/a', prefix: '/b' }] }] }),
      [
        'spec.origins[0].jwt.triggerRules[0].excludedPaths[0]: give only one of exact or prefix or suffix or regex, not exact and prefix',
      ],
    ],
    [
      'a broken expression',
      withJwt({ triggerRules: [{ includedPaths: [{ regex: '/(' }] }] }),
      ['spec.origins[0].jwt.triggerRules[0].includedPaths[0].regex: not a regular expression: Unterminated group'],
    ],
    [
      'an expression Envoy refuses',
      withJwt({ triggerRules: [{ includedPaths: [{ regex: '/(?!a).*' }] }] }),
      ['spec.origins[0].jwt.triggerRules[0].includedPaths[0].regex: look-ahead and look-behind are not supported (RE2)'],
    ],
    [
      'another version',
      policy({}, { apiVersion: 'authentication.mesh.io/v1' }),
      ['apiVersion: must be authentication.mesh.io/v1alpha1, not authentication.mesh.io/v1'],
    ],
    [
      'a mesh policy of another name',
      policy({}, { kind: 'MeshPolicy', metadata: { name: 'other' } }),
      ['metadata.name: the policy of the mesh must be named "default"'],
    ],
    [
      'a mesh policy with targets',
      policy({ targets: [{ name: 'a' }] }, { kind: 'MeshPolicy', metadata: { name: 'default' } }),
      ['spec.targets: a MeshPolicy is for every service; write a Policy for some of them'],
    ],
  ];
  for (const [what, object, problems] of REFUSED) {
    it(`refuses ${what}`, () => expect(problemsOf(object)).to.deep.equal(problems));
  }

  for (const jwksUri of [
    'ftp://a/b',
    'https://',
    'https://a:http/',
    'https://a:0/',
    'https://a:70000/',
    'a/b',
    'https://user@a/',
    'https://a/b c',
    '//a',
  ]) {
    it(`refuses the jwksUri ${jwksUri}`, () => expect(problemsOf(withJwt({ jwksUri }))).to.have.length(1));
  }
  for (const jwksUri of [
    'http://a',
    'https://a.b:65535/c?d=e',
    'http://10.0.0.1:8000/keys',
    'http://[::1]:80/keys',
    'https://jwks.legacy.svc.cluster.local./x',
  ]) {
    it(`takes the jwksUri ${jwksUri}`, () => expect(problemsOf(withJwt({ jwksUri }))).to.deep.equal([]));
  }

  it('tells every problem at once', () => {
    const object = policy({ peer: 1, targets: [{ name: 'A', ports: [{}] }], origins: [{ jwt: { issuer: '', jwksUri: 'x' } }] });
    expect(problemsOf(object).map((problem) => problem.replace(/: .*/, ''))).to.have.members([
      'spec.peer',
      'spec.targets[0].name',
      'spec.targets[0].ports[0]',
      'spec.origins[0].jwt.issuer',
      'spec.origins[0].jwt.jwksUri',
    ]);
  });

  it('follows another mesh domain', () => {
    const object = policy({}, { apiVersion: 'authentication.example.com/v1alpha1' });
    expect(parsePolicy(object, namesFor('example.com'))).to.have.property('ok', true);
  });

  it('warns of a namespace policy not named default, and of USE_ORIGIN without origins', () => {
    const warnings = (object: KubeObject): readonly string[] => {
      const parsed = parsePolicy(object, names);
      return parsed.ok ? policyWarnings(parsed.value).map(({ path }) => path) : ['refused'];
    };
    expect(warnings(policy({}))).to.deep.equal([]);
    expect(warnings(policy({}, { metadata: { name: 'strict', namespace: 'foo' } }))).to.deep.equal(['metadata.name']);
    expect(warnings(policy({ targets: [{ name: 'a' }] }, { metadata: { name: 'strict', namespace: 'foo' } }))).to.deep.equal([]);
    expect(warnings(policy({ principalBinding: 'USE_ORIGIN' }))).to.deep.equal(['spec.principalBinding']);
  });
});
