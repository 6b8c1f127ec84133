import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { seconds } from '../../../../src/lib/duration.ts';
import type { KubeObject } from '../../../../src/model/object.ts';
import { grpcadapter } from '../../../../src/rules/adapter/grpcadapter.ts';
import { compileConfiguration } from '../../../../src/rules/config/compile.ts';
import { ruleDefinitions } from '../../../../src/rules/config/crds.ts';
import { compiledInstance } from '../../../fakes/rule-instances.ts';
import { ruleObject } from '../../../fakes/rule-objects.ts';

const PAGE = readFileSync('docs/reference/mixs-grpc-adapters.md', 'utf8');

describe('handlers of gRPC adapters', () => {
  const minimal = { address: 'adapter:9099', templates: ['metric'] };
  const problems = (spec: object): readonly string[] => {
    const parsed = grpcadapter.parse({ ...minimal, ...spec }, []);
    return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`);
  };

  it('have defaults that fail closed', () => {
    const parsed = grpcadapter.parse(minimal, []);
    expect(parsed).to.deep.equal({
      ok: true,
      value: {
        address: 'adapter:9099',
        tls: undefined,
        templates: ['metric'],
        instances: [],
        params: {},
        deadline: seconds(1),
        failClose: true,
        validDuration: seconds(5),
        maxValidDuration: seconds(60),
        circuitBreaker: { consecutiveFailures: 5, openDuration: seconds(5) },
        healthCheckInterval: seconds(5),
        flushInterval: seconds(1),
        maxQueued: 10_000,
      },
    });
  });

  it('know which instances come, of the templates that they take', () => {
    const sent = [
      compiledInstance('metric', 'size', { value: 'response.size', dimensions: { code: 'response.code' } }),
      compiledInstance('listentry', 'who', { value: 'source.name' }),
    ];
    const parsed = grpcadapter.parse(minimal, sent);
    expect(parsed.ok ? parsed.value.instances : []).to.deep.equal([
      { name: 'size.metric.ns', template: 'metric', types: { value: 'INT64', 'dimensions.code': 'INT64' } },
    ]);
  });

  for (const [address, isRight] of Object.entries({
    'adapter:9099': true,
    '10.0.0.1:1': true,
    '[::1]:65535': true,
    'unix:/run/adapter.sock': true,
    adapter: false,
    'adapter:0': false,
    'adapter:65536': false,
    'http://adapter:80': false,
    'unix:relative.sock': false,
    '::1:9099': false,
  })) {
    it(`${isRight ? 'may' : 'may not'} be at ${address}`, () => {
      expect(problems({ address })).to.deep.equal(isRight ? [] : [`address: "${address}" is neither host:port nor unix:/path`]);
    });
  }

  it('name files with keys and certificates, and hold none', () => {
    expect(problems({ tls: {} })).to.deep.equal([]);
    expect(problems({ tls: { caCertificates: '/ca.pem', clientCertificate: '/c.pem', privateKey: '/k.pem' } })).to.deep.equal([]);
    expect(problems({ tls: { caCertificates: '-----BEGIN CERTIFICATE-----', privateKey: 'k.pem' } })).to.deep.equal([
      'tls.privateKey: "k.pem" is no absolute path',
      'tls.clientCertificate: is required with privateKey',
      'tls.caCertificates: must be the path of a file, not its content',
    ]);
    expect(problems({ address: 'unix:/a.sock', tls: {} })).to.deep.equal(['tls: is not for sockets of this machine']);
  });

  it('are told all that is wrong at once', () => {
    const spec = {
      templates: ['metric', 'kubernetes'],
      deadline: '6s',
      validDuration: '2m',
      circuitBreaker: { consecutiveFailures: 0, openDuration: '1ms', tries: 3 },
      healthCheckInterval: '0s',
      flushInterval: '1h',
      maxQueued: 0,
      timeout: '1s',
      params: { text: 'x'.repeat(300_000) },
    };
    expect(problems(spec).map((problem) => problem.split(':')[0])).to.have.members(
      [
        'timeout',
        'templates[1]',
        'params',
        'deadline',
        'validDuration',
        'tries',
        'consecutiveFailures',
        'openDuration',
        'healthCheckInterval',
        'flushInterval',
        'maxQueued',
      ].map((field) => (['tries', 'consecutiveFailures', 'openDuration'].includes(field) ? `circuitBreaker.${field}` : field)),
    );
    expect(problems({ templates: [] })[0]).to.match(/^templates: must name at least one of apikey, /);
  });

  it('are sent what they take, and nothing else', () => {
    const configuration = compileConfiguration([
      ruleObject('grpcadapter', 'mine', minimal),
      ruleObject('metric', 'size', { value: 'response.size | 0' }),
      ruleObject('checknothing', 'nothing'),
      ruleObject('rule', 'right', { actions: [{ handler: 'mine.grpcadapter', instances: ['size.metric'] }] }),
      ruleObject('rule', 'wrong', { actions: [{ handler: 'mine.grpcadapter', instances: ['nothing.checknothing'] }] }),
    ]);
    expect(configuration.problems.map(({ path, message }) => `${path}: ${message}`)).to.deep.equal([
      'spec.actions[0].instances[0]: grpcadapter takes no checknothing',
    ]);
    expect([...configuration.rules.keys()]).to.deep.equal(['right.rule.mesh-system']);
  });

  it('are a kind of their own, whose params may be anything', () => {
    const definition = ruleDefinitions('mesh.io', 'adapter').find(
      ({ metadata }) => metadata.name === 'grpcadapters.config.mesh.io',
    );
    expect(definition).to.have.nested.property(
      'spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.params.x-kubernetes-preserve-unknown-fields',
      true,
    );
  });

  it('have a reference page with an example that is right, and all fields', () => {
    const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(PAGE) ?? [];
    const { spec } = load(yaml) as KubeObject;
    expect(problems(spec as object)).to.deep.equal([]);
    const { properties } = grpcadapter.schema as { readonly properties: Readonly<Record<string, object>> };
    expect(Object.keys(properties).filter((field) => !PAGE.includes(`| \`${field}`))).to.deep.equal([]);
  });
});
