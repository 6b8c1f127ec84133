import { expect } from 'chai';
import { parseCommandLine } from '../../../src/flags/parse.ts';
import { serverFlags } from '../../../src/mixs/flags.ts';

const refusals = (line: string): readonly string[] => {
  const parsed = parseCommandLine(serverFlags, [], line === '' ? [] : line.split(' '), {});
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`);
};

const REFUSED: readonly (readonly [line: string, message: string])[] = [
  ...['adapterWorkerPoolSize', 'apiWorkerPoolSize'].flatMap((name): (readonly [string, string])[] => [
    [`--${name} 0`, `--${name}: "0" is out of range from 1 to 1000000`],
    [`--${name} 1.5`, `--${name}: "1.5" is not a whole number from 1 to 1000000`],
  ]),
  ['--configDefaultNamespace=', '--configDefaultNamespace: "" is not a DNS label'],
  ['--configDefaultNamespace a.b', '--configDefaultNamespace: "a.b" is not a DNS label'],
  ['--livenessProbeInterval 5', '--livenessProbeInterval: "5" is not a duration'],
  ['--readinessProbeInterval x', '--readinessProbeInterval: "x" is not a duration'],
  ['--maxConcurrentStreams 0', '--maxConcurrentStreams: "0" is out of range from 1 to 2147483647'],
  ['--maxMessageSize -1', '--maxMessageSize: "-1" is out of range from 1 to 1073741824'],
  ['--monitoringPort 65536', '--monitoringPort: "65536" is out of range from 0 to 65535'],
  ['-p x', '--port: "x" is not a whole number from 0 to 65535'],
  ['--profile=maybe', '--profile: "maybe" is neither true nor false'],
  ['--singleThreaded=2', '--singleThreaded: "2" is neither true nor false'],
  ['--trace_log_spans=no', '--trace_log_spans: "no" is neither true nor false'],
  ['--trace_collectorA_url collector:4318', '--trace_collectorA_url: "collector:4318" is no http or https URL'],
  ['--trace_zipkin_url zipkin', '--trace_collectorB_url: "zipkin" is no URL'],
  [
    '--log_output_level rules:info',
    '--log_output_level: there is no log scope "rules"; the scopes are default, attributes, adapters',
  ],
  ['--log_stacktrace_level adapters:all', '--log_stacktrace_level: "adapters:all" is not <scope>:<level>'],
  ['--log_caller adaptors', '--log_caller: there is no log scope "adaptors"'],
  ['--address 127.0.0.1', '--address: there is no such flag'],
];

describe('the flags of mixs server', () => {
  for (const [line, message] of REFUSED) {
    it(`do not take ${line}`, () => {
      const [first, ...others] = refusals(line);
      expect(first?.slice(0, message.length)).to.equal(message);
      expect(others).to.deep.equal([]);
    });
  }

  it('are all there with a value of their own', () => {
    const line = [
      ...['--adapterWorkerPoolSize 1', '--apiWorkerPoolSize 1', '--configDefaultNamespace rules', '--configStoreURL fs://rules'],
      ...['--livenessProbeInterval 1s', '--livenessProbePath /l', '--maxConcurrentStreams 1', '--maxMessageSize 1'],
      ...[
        '--monitoringPort 0',
        '-p 0',
        '--profile',
        '--readinessProbeInterval 1s',
        '--readinessProbePath /r',
        '--singleThreaded',
      ],
      ...['--trace_collectorA_url http://a:4318', '--trace_collectorB_url https://b', '--trace_log_spans'],
      ...['--log_output_level default:warn,attributes:debug,adapters:none', '--log_stacktrace_level adapters:error'],
      ...['--log_caller attributes,adapters', '--log_as_json', '--log_target stderr'],
    ].join(' ');
    expect(refusals(line)).to.deep.equal([]);
    expect(refusals('')).to.deep.equal([]);
  });
});
