import { expect } from 'chai';
import fc from 'fast-check';
import { parseCommandLine } from '../../../src/flags/parse.ts';
import { type ArgSpec, flagTable } from '../../../src/flags/table.ts';
import { seconds } from '../../../src/lib/duration.ts';

const table = flagTable({
  domain: { type: 'string', default: 'cluster.local', summary: '' },
  namespace: { type: 'string', char: 'n', default: '', summary: '' },
  orchconfig: { type: 'string', aliases: ['kubeconfig'], env: 'MESH_ORCHCONFIG', default: '', summary: '' },
  level: {
    type: 'string',
    options: ['low', 'high', 'top'],
    refusedValues: { top: 'nobody has been there' },
    default: 'low',
    summary: '',
  },
  verbose: { type: 'bool', char: 'v', default: false, summary: '' },
  short: { type: 'bool', char: 's', default: true, summary: '' },
  port: { type: 'uint16', char: 'p', default: 9091, summary: '' },
  count: { type: 'int', default: 0, summary: '' },
  workers: { type: 'int', min: 1, max: 8, default: 1, summary: '' },
  size: { type: 'uint', default: 0, summary: '' },
  ratio: { type: 'float32', default: 0.5, summary: '' },
  ttl: { type: 'duration', default: seconds(60), summary: '' },
  registries: { type: 'stringSlice', default: ['Kubernetes'], summary: '' },
  target: { type: 'stringArray', char: 't', default: ['stdout'], summary: '' },
  profile: { type: 'bool', default: false, refused: 'there is no profiler', summary: '' },
  cache: { type: 'string', default: '', refused: 'there is no cache', summary: '' },
});

const anyArgs: readonly ArgSpec[] = [{ name: 'WORD', summary: 'words', variadic: true }];

function parse(argv: readonly string[], args = anyArgs, env: Record<string, string> = {}) {
  const parsed = parseCommandLine(table, args, argv, env);
  if (!parsed.ok) return { problems: parsed.problems.map(({ path, message }) => [path, message].filter(Boolean).join(': ')) };
  if (parsed.value.kind === 'help') return { help: true };
  const { options, args: words, given } = parsed.value.invocation;
  return { options, args: words, given: [...given] };
}

const ACCEPTED: readonly (readonly [line: string, options: object, args?: readonly string[]])[] = [
  ['', { domain: 'cluster.local', short: true, registries: ['Kubernetes'] }],
  ['--domain a', { domain: 'a' }],
  ['--domain=a', { domain: 'a' }],
  ['--domain=', { domain: '' }],
  ['--domain=a=b', { domain: 'a=b' }],
  ['--domain=--port', { domain: '--port' }],
  ['--domain -', { domain: '-' }],
  ['--domain a --domain b', { domain: 'b' }],
  ['-n foo', { namespace: 'foo' }],
  ['-n=foo', { namespace: 'foo' }],
  ['-nfoo', { namespace: 'foo' }],
  ['-vn foo', { verbose: true, namespace: 'foo' }],
  ['-vs=false', { verbose: true, short: false }],
  ['--kubeconfig /x', { orchconfig: '/x' }],
  ['--level high', { level: 'high' }],
  ['--verbose', { verbose: true }],
  ['--verbose=true', { verbose: true }],
  ['--verbose=1 --verbose=F', { verbose: false }],
  ['--verbose false', { verbose: true }, ['false']],
  ['--short=false', { short: false }],
  ['--profile=false', { profile: false }],
  ['--port 65535', { port: 65_535 }],
  ['--port=0x10', { port: 16 }],
  ['--count -5', { count: -5 }],
  ['--ratio 1e-3', { ratio: 0.001 }],
  ['--ratio .5', { ratio: 0.5 }],
  ['--ttl 1m30s', { ttl: 90_000 }],
  ['--registries a,b', { registries: ['a', 'b'] }],
  ['--registries a --registries b,c', { registries: ['a', 'b', 'c'] }],
  ['--registries=', { registries: [] }],
  ['--registries "a,b","c""d"', { registries: ['a,b', 'c"d'] }],
  ['--target a,b -t c', { target: ['a,b', 'c'] }],
  ['a --verbose b', { verbose: true }, ['a', 'b']],
  ['-- --verbose -x a a', { verbose: false }, ['--verbose', '-x', 'a', 'a']],
  ['pod -- sh -c --verbose --', {}, ['pod', 'sh', '-c', '--verbose', '--']],
];

const REFUSED: readonly (readonly [line: string, ...problems: string[]])[] = [
  ['--dommain a', '--dommain: there is no such flag; did you mean --domain?'],
  ['--zzzzzz', '--zzzzzz: there is no such flag'],
  ['-vx', '-x: there is no such flag (in -vx)'],
  ['--domain', '--domain: a value is missing'],
  ['--domain --verbose', '--domain: a value is missing; write --domain=--verbose if --verbose is meant to be the value'],
  ['--verbose=yes', '--verbose: "yes" is neither true nor false'],
  ['--port 65536', '--port: "65536" is out of range from 0 to 65535'],
  ['--port -1', '--port: "-1" is out of range from 0 to 65535'],
  ['--port http', '--port: "http" is not a whole number from 0 to 65535'],
  ['--port 080', '--port: "080" is not a whole number from 0 to 65535'],
  ['--count 1.5', '--count: "1.5" is not a whole number such as 42'],
  ['--count 99999999999999999999', '--count: "99999999999999999999" is out of range from -9007199254740991 to 9007199254740991'],
  ['--workers 9', '--workers: "9" is out of range from 1 to 8'],
  ['--size=-1', '--size: "-1" is out of range from 0 to 9007199254740991'],
  ['--ratio half', '--ratio: "half" is not a number such as 0.5'],
  ['--ratio NaN', '--ratio: "NaN" is not a number such as 0.5'],
  ['--ratio 1e39', '--ratio: "1e39" is larger than a 32-bit float can be'],
  ['--ttl 5', '--ttl: "5" is not a duration such as 1h2m3.5s, 30s or 100ms'],
  ['--level hihg', '--level: "hihg" is not one of low, high, top; did you mean "high"?'],
  ['--level top', '--level: "top" is refused: nobody has been there'],
  ['--registries "a', '--registries: ""a" is not a comma-separated list: a quote is missing or misplaced'],
  ['--profile', '--profile: refused: there is no profiler'],
  ['--cache x', '--cache: refused: there is no cache'],
  ['--cache=', '--cache: refused: there is no cache'],
  [
    '--port x --ttl y',
    '--port: "x" is not a whole number from 0 to 65535',
    '--ttl: "y" is not a duration such as 1h2m3.5s, 30s or 100ms',
  ],
];

const words = (line: string) => (line === '' ? [] : line.split(' '));

describe('command line', () => {
  for (const [line, options, args = []] of ACCEPTED) {
    it(`reads ${line || 'nothing'}`, () => {
      const parsed = parse(words(line));
      expect(parsed.problems).to.equal(undefined);
      expect(parsed.options).to.deep.include(options);
      expect(parsed.args).to.deep.equal(args);
    });
  }

  for (const [line, ...problems] of REFUSED) {
    it(`refuses ${line}`, () => {
      expect(parse(words(line))).to.deep.equal({ problems });
    });
  }

  it('tells which flags were given, by the name in the table', () => {
    expect(parse(['--kubeconfig', 'x', '-v', '--port=9091']).given).to.deep.equal(['orchconfig', 'verbose', 'port']);
  });

  it('takes a flag from the environment only when it is not given', () => {
    const env = { MESH_ORCHCONFIG: '/env' };
    expect(parse([], anyArgs, env).options).to.deep.include({ orchconfig: '/env' });
    expect(parse([], anyArgs, env).given).to.deep.equal([]);
    expect(parse(['--orchconfig', '/flag'], anyArgs, env).options).to.deep.include({ orchconfig: '/flag' });
  });

  it('shows help whatever else is wrong', () => {
    expect(parse(['--help'])).to.deep.equal({ help: true });
    expect(parse(['--nonsense', '-h'])).to.deep.equal({ help: true });
    expect(parse(['--', '--help']).args).to.deep.equal(['--help']);
  });

  it('checks the arguments', () => {
    const specs: readonly ArgSpec[] = [
      { name: 'TYPE', summary: 'what to print', required: true, options: ['all', 'routes'] },
      { name: 'PORT', summary: 'a port' },
    ];
    expect(parse([], specs).problems).to.deep.equal(['missing TYPE: what to print']);
    expect(parse(['some'], specs).problems).to.deep.equal(['TYPE: "some" is not one of all, routes']);
    expect(parse(['all', '80', '81'], specs).problems).to.deep.equal(['there is no place for the argument "81"']);
    expect(parse(['all', '80'], specs).args).to.deep.equal(['all', '80']);
  });

  it('takes any text as the value of a string flag, and any words behind --', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string()), (text, rest) => {
        const parsed = parse([`--domain=${text}`, '--', ...rest]);
        expect(parsed.options).to.deep.include({ domain: text });
        expect(parsed.args).to.deep.equal(rest);
      }),
    );
  });

  it('never fails on any words: it parses or reports', () => {
    const word = fc.oneof(fc.string(), fc.constantFrom('-', '--', '-n', '-v=', '--port', '--ttl=', '-nv', '--=', '---'));
    fc.assert(fc.property(fc.array(word), (argv) => void parse(argv)));
  });
});
