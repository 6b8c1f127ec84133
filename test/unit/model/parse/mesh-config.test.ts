import { expect } from 'chai';
import { formatProblem } from '../../../../src/lib/errors.ts';
import { DEFAULT_MESH_CONFIG } from '../../../../src/model/mesh-config.ts';
import { parseMeshConfig } from '../../../../src/model/parse/mesh-config.ts';

const problemsOf = (text: string): readonly string[] => {
  const parsed = parseMeshConfig(text, 'mesh.yaml');
  return parsed.ok ? [] : parsed.problems.map(formatProblem);
};

describe('parseMeshConfig', () => {
  for (const text of ['', '# authPolicy: MUTUAL_TLS\n', '{}', '---\n']) {
    it(`takes ${JSON.stringify(text)} for the default mesh`, () => {
      expect(parseMeshConfig(text)).to.deep.equal({ ok: true, value: DEFAULT_MESH_CONFIG });
    });
  }

  it('reads every key', () => {
    const text = `
authPolicy: MUTUAL_TLS
trustDomain: example.com
outboundTrafficPolicy: ALLOW_ANY
rootNamespace: control
proxyListenPort: 16001
proxyInboundListenPort: 16006
connectTimeout: 2.5s
accessLogFile: /dev/stdout
enableTracing: true
mixerCheckServer: mesh-policy.mesh-system.svc.cluster.local:9091
mixerReportServer: mesh-telemetry.mesh-system.svc.cluster.local:9092
policyCheckFailOpen: true
disablePolicyChecks: true
disableMixerHttpReports: true
defaultConfig:
  controlPlaneAuthPolicy: MUTUAL_TLS
  tracing: {sampling: 12.5, zipkin: {address: 'zipkin.monitoring:9411'}}
`;
    expect(parseMeshConfig(text)).to.deep.equal({
      ok: true,
      value: {
        authPolicy: 'MUTUAL_TLS',
        trustDomain: 'example.com',
        outboundTrafficPolicy: 'ALLOW_ANY',
        rootNamespace: 'control',
        proxyListenPort: 16001,
        proxyInboundListenPort: 16006,
        connectTimeout: 2500,
        accessLogFile: '/dev/stdout',
        enableTracing: true,
        traceSampling: 12.5,
        traceCollector: { host: 'zipkin.monitoring', port: 9411 },
        mixerCheckServer: { host: 'mesh-policy.mesh-system.svc.cluster.local', port: 9091 },
        mixerReportServer: { host: 'mesh-telemetry.mesh-system.svc.cluster.local', port: 9092 },
        policyCheckFailOpen: true,
        disablePolicyChecks: true,
        disableMixerHttpReports: true,
        controlPlaneAuthPolicy: 'MUTUAL_TLS',
      },
    });
  });

  it('takes the older form of outboundTrafficPolicy', () => {
    const parsed = parseMeshConfig('outboundTrafficPolicy: {mode: ALLOW_ANY}');
    expect(parsed.ok && parsed.value.outboundTrafficPolicy).to.equal('ALLOW_ANY');
  });

  it('takes a value that was read already', () => {
    const parsed = parseMeshConfig({ authPolicy: 'MUTUAL_TLS' });
    expect(parsed.ok && parsed.value.authPolicy).to.equal('MUTUAL_TLS');
  });

  const REFUSED: readonly (readonly [string, readonly string[]])[] = [
    [
      'a: 1\nauthPolcy: NONE\n',
      [
        'mesh.yaml:1: a: unknown field; known here: trustDomain, authPolicy, outboundTrafficPolicy, rootNamespace, proxyListenPort, proxyInboundListenPort, connectTimeout, accessLogFile, enableTracing, mixerCheckServer, mixerReportServer, policyCheckFailOpen, disablePolicyChecks, disableMixerHttpReports, defaultConfig',
        'mesh.yaml:2: authPolcy: unknown field; did you mean "authPolicy"?',
      ],
    ],
    ['authPolicy: MTLS', ['mesh.yaml:1: authPolicy: must be NONE or MUTUAL_TLS, not "MTLS"']],
    [
      '\nmixerCheckServer: mixs:9091',
      [
        'mesh.yaml:2: mixerCheckServer: must be a service of the mesh and its port, such as mesh-policy.mesh-system.svc.cluster.local:9091',
      ],
    ],
    ['mixerReportServer: mixs.mesh-system:70000', ['mesh.yaml:1: mixerReportServer: 70000 is not a port number from 1 to 65535']],
    [
      'mixerAddress: mixs:9091',
      ['mesh.yaml:1: mixerAddress: not supported: give mixerCheckServer and mixerReportServer; remove the line'],
    ],
    ['connectTimeout: 5', ['mesh.yaml:1: connectTimeout: must be a duration such as 1s or 500ms']],
    ['connectTimeout: 5x', ['mesh.yaml:1: connectTimeout: "5x" is not a duration such as 1h2m3.5s, 30s or 100ms']],
    ['connectTimeout: 0s', ['mesh.yaml:1: connectTimeout: must be longer than 0s']],
    ['proxyListenPort: 0', ['mesh.yaml:1: proxyListenPort: must be a port number from 1 to 65535']],
    ['outboundTrafficPolicy: ALLOW', ['mesh.yaml:1: outboundTrafficPolicy: must be REGISTRY_ONLY or ALLOW_ANY, not "ALLOW"']],
    [
      'outboundTrafficPolicy: {mod: ALLOW_ANY}',
      [
        'mesh.yaml:1: outboundTrafficPolicy.mode: required',
        'mesh.yaml:1: outboundTrafficPolicy.mod: unknown field; did you mean "mode"?',
      ],
    ],
    [
      'defaultConfig: {controlPlaneAuthPolicy: TLS}',
      ['mesh.yaml:1: defaultConfig.controlPlaneAuthPolicy: must be NONE or MUTUAL_TLS, not "TLS"'],
    ],
    [
      'defaultConfig:\n  concurrency: 2\n',
      ['mesh.yaml:2: defaultConfig.concurrency: not supported: it is a flag of pilot-agent; remove the line'],
    ],
    ['- a', ['mesh.yaml:1: the mesh configuration must be a mapping']],
    ['a: [', ['mesh.yaml:1: not valid YAML: unexpected end of the stream within a flow collection']],
    ['authPolicy: NONE\n---\nauthPolicy: NONE', ['mesh.yaml:3: a second document; the mesh configuration is one']],
  ];
  for (const [text, problems] of REFUSED) {
    it(`refuses ${JSON.stringify(text)}`, () => expect(problemsOf(text)).to.deep.equal(problems));
  }
});
