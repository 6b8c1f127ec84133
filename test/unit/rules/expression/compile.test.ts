import { expect } from 'chai';
import { MeshError } from '../../../../src/lib/errors.ts';
import type { Value, ValueType } from '../../../../src/rules/attribute/value.ts';
import { expressionCompiler } from '../../../../src/rules/expression/compile.ts';
import { bagOf, vocabularyOf } from '../../../fakes/attributes.ts';

const compile = expressionCompiler(
  vocabularyOf({
    'source.name': 'STRING',
    'source.ip': 'IP_ADDRESS',
    'source.namespace': 'STRING',
    'destination.service': 'STRING',
    'destination.host': 'DNS_NAME',
    'request.size': 'INT64',
    'request.path': 'STRING',
    'request.headers': 'STRING_MAP',
    'request.time': 'TIMESTAMP',
    'request.mail': 'EMAIL_ADDRESS',
    'request.uri': 'URI',
    'response.time': 'TIMESTAMP',
    'response.duration': 'DURATION',
    'response.code': 'INT64',
    'connection.mtls': 'BOOL',
    'some.ratio': 'DOUBLE',
    absent: 'STRING',
    missing: 'INT64',
  }),
);

const BAG = bagOf({
  'source.name': 'sleep-1',
  'source.ip': '10.0.0.7',
  'source.namespace': 'foo',
  'destination.service': 'httpbin.foo.svc.cluster.local',
  'destination.host': 'HTTPBIN.foo.',
  'request.size': 1000n,
  'request.path': '/headers?x=1',
  'request.headers': new Map([
    ['host', 'httpbin.foo:8000'],
    ['x-token', 'Abc'],
  ]),
  'request.time': 1_527_854_400_000_000_000n,
  'request.mail': 'admin@Example.com',
  'request.uri': 'HTTPS://Example.com:443/a',
  'response.time': 1_527_854_401_500_000_000n,
  'response.duration': 15_000_000n,
  'response.code': 200n,
  'connection.mtls': true,
  'some.ratio': 0.5,
});

const evaluate = (text: string): Value | undefined => compile(text, 'any').evaluate(BAG);

function mistakeOf(text: string, expected: ValueType | 'any' = 'any'): string {
  try {
    compile(text, expected);
  } catch (thrown) {
    if (thrown instanceof MeshError && thrown.code === 'invalid') return thrown.message;
    throw thrown;
  }
  throw new Error(`${text} compiled`);
}

describe('an expression', () => {
  const RESULTS: Readonly<Record<string, Value | undefined>> = {
    'source.name': 'sleep-1',
    absent: undefined,
    'absent | "none"': 'none',
    'absent | request.headers["x-none"] | source.name': 'sleep-1',
    'request.headers["x-token"]': 'Abc',
    'request.headers["x-none"]': undefined,
    '(request.headers | emptyStringMap())["host"]': 'httpbin.foo:8000',
    '"a\\tb\\u00e9\\x41\\101\\""': 'a\tbéAA"',
    '`a\\tb`': 'a\\tb',
    '0x10 + 2 * 3': 22n,
    '(1 + 2) * 3': 9n,
    '7 / 2': 3n,
    '-7 / 2': -3n,
    '-7 % 3': -1n,
    '1 - 2 - 3': -4n,
    '9223372036854775807 + 1': -(2n ** 63n),
    '1 / 0': undefined,
    '1 % 0': undefined,
    '1.5 * 2.0': 3,
    'some.ratio * 2': 1,
    '3 > some.ratio': true,
    '-some.ratio': -0.5,
    '"a" + "b"': 'ab',
    'request.size >= 1000 && request.size < 1001': true,
    'request.size != 1000 || connection.mtls': true,
    '!connection.mtls': false,
    'missing == 1': false,
    'missing != 1': true,
    'absent != source.name': true,
    'absent == absent': false,
    'request.headers["x-none"] != "a"': true,
    'missing < 1': undefined,
    '!(missing < 1)': undefined,
    'missing == 1 || true': true,
    'missing < 1 || true': undefined,
    'false && missing == 1': false,
    'true || missing == 1': true,
    '(missing | 3) == 3': true,
    'missing | 3 == 3': true,
    'response.duration > "10ms"': true,
    '"1h" < response.duration': false,
    'response.duration + "5ms" == "20ms"': true,
    'response.time - request.time': 1_500_000_000n,
    'request.time + "1.5s" == response.time': true,
    'request.time == timestamp("2018-06-01T12:00:00Z")': true,
    'request.time == "2018-06-01T14:00:00.000000000+02:00"': true,
    'source.ip == ip("10.0.0.7")': true,
    'source.ip == "::ffff:10.0.0.7"': true,
    'source.ip != "10.0.0.8"': true,
    'ip(source.name)': undefined,
    'destination.host == "httpbin.FOO"': true,
    'destination.host == dnsName(destination.service)': false,
    'request.mail == email("admin@example.com")': true,
    'request.uri == uri("https://example.com/a")': true,
    'match(destination.service, "httpbin.*")': true,
    'destination.service.match("*.cluster.local")': true,
    'match(destination.service, "*foo*")': true,
    'match(destination.service, "httpbin")': false,
    'match(destination.service, source.name)': false,
    '"^/head[a-z]+".matches(request.path)': true,
    'matches("^x", request.path)': false,
    'request.path.startsWith("/headers")': true,
    'startsWith(request.path, "headers")': false,
    'request.path.endsWith("=1")': true,
    'reverse(source.name)': '1-peels',
    'source.name.reverse().reverse()': 'sleep-1',
    'request.headers["x-token"].toLower()': 'abc',
    'toLower("ÀB")': 'àb',
    'size("héllo")': 5n,
    'size(request.headers)': 2n,
    'conditional(response.code >= 500, "error", absent | "fine")': 'fine',
    'conditional(response.code == 200, "fine", absent)': 'fine',
    'conditional(missing < 1, 1, 2)': undefined,
    'conditional(missing == 1, 1, 2)': 2n,
    'emptyStringMap()["x"]': undefined,
  };
  for (const [text, value] of Object.entries(RESULTS)) {
    it(`${text} is ${String(value)}`, () => expect(evaluate(text)).to.equal(value));
  }

  const MISTAKES: Readonly<Record<string, string>> = {
    '': 'column 1: expected a value, found the end',
    'source.nam': 'column 1: there is no attribute source.nam; did you mean "source.name"?',
    'source.name == 5': 'column 13: "==" cannot stand between STRING and INT64',
    'source.name && true': 'column 1: "&&" stands between two BOOL, not STRING (source.name)',
    'true && "x"': 'column 9: "&&" stands between two BOOL, not STRING',
    'request.size +': 'column 15: expected a value, found the end',
    'request.size request.size': 'column 14: expected an operator or the end, found "request"',
    '(1 + 2': 'column 7: expected an operator or ")", found the end',
    '"abc': 'column 1: the string that begins here has no end',
    "source.name == 'x'": 'column 16: strings stand in double quotes, not in single ones',
    'source.name = "x"': 'column 13: a single = means nothing, "equals" is ==',
    'a & b': 'column 3: a single & means nothing, "and" is &&',
    'source.name # x': 'column 13: "#" means nothing here',
    '"\\q"': 'column 2: "\\q" is no escape sequence; a backslash itself is written \\\\',
    '9223372036854775808': 'column 1: 9223372036854775808 does not fit into 64 bits',
    'source.name["x"]': 'column 1: only a STRING_MAP has [...], not STRING (source.name)',
    'request.headers[1]': 'column 17: the key of a STRING_MAP is a STRING, not INT64',
    'request.headers == request.headers': 'column 17: "==" has no meaning for STRING_MAP',
    'connection.mtls < true': 'column 17: "<" has no meaning for BOOL',
    '!source.name': 'column 1: "!" has no meaning for STRING',
    'startWith(source.name, "x")': 'column 1: there is no function startWith; did you mean "startsWith"?',
    'source.name.startsWith()': 'column 1: startsWith takes 2 arguments, not 1: request.path.startsWith("/api/")',
    'request.path.matches("^/x")':
      'column 1: the regular expression is a literal and stands first: "^/api/".matches(request.path)',
    'response.duration > "ten"': 'column 21: "ten" is not a duration such as "1.5s" or "10ms"',
    'ip("10.0.0")': 'column 1: "10.0.0" is not an IP address such as "10.0.0.1" or "2001:db8::1"',
    'absent | 5': 'column 8: "|" cannot stand between STRING and INT64',
    'conditional(true, 1, "x")':
      'column 22: both values must be INT64, not STRING: conditional(response.code >= 500, "error", "fine")',
    'true\n  && 5': 'line 2, column 6: "&&" stands between two BOOL, not INT64',
    [`${'('.repeat(200)}1`]: 'column 101: more than 100 parts inside each other',
  };
  for (const [text, message] of Object.entries(MISTAKES)) {
    it(`${text.slice(0, 40)} is a mistake`, () => expect(mistakeOf(text)).to.equal(message));
  }

  it('tells a wrong regular expression', () => {
    expect(mistakeOf('"a(".matches(request.path)')).to.match(/^column 6: the regular expression is wrong: .*missing closing \)/);
  });

  it('must have the type that is asked for', () => {
    expect(mistakeOf('request.size', 'BOOL')).to.equal('column 1: the value must be BOOL, not INT64 (request.size)');
    expect(compile('"5s"', 'DURATION').evaluate(BAG)).to.equal(5_000_000_000n);
    expect(compile('source.ip', 'STRING').type).to.equal('STRING');
  });

  it('matches regular expressions in linear time', () => {
    const { evaluate: slow } = compile('"^(a+)+$".matches(request.path)', 'BOOL');
    expect(slow(bagOf({ 'request.path': `${'a'.repeat(50_000)}!` }))).to.equal(false);
  });

  it('takes thousands of words, and no more than it can', () => {
    const long = Array.from({ length: 300 }, (_, i) => `request.size != ${i}`).join(' && ');
    expect(evaluate(long)).to.equal(true);
    expect(mistakeOf(Array.from({ length: 3000 }, () => 'true').join(' && '))).to.include('at most 8192 characters');
  });

  it('tells the attributes that it needs', () => {
    const { attributes } = compile('source.name == "x" || request.headers["a"] == absent', 'BOOL');
    expect([...attributes]).to.deep.equal(['source.name', 'request.headers', 'absent']);
  });

  it('tells what must hold wherever it is true', () => {
    const required = (text: string): unknown =>
      Object.fromEntries([...compile(text, 'BOOL').requires].map(([name, texts]) => [name, [...texts]]));
    expect(
      required('destination.service == "a" && ("foo" == source.namespace || source.namespace == "bar") && request.size > 1'),
    ).to.deep.equal({
      'destination.service': ['a'],
      'source.namespace': ['foo', 'bar'],
    });
    expect(required('source.name == "a" && source.name == "b"')).to.deep.equal({ 'source.name': [] });
    expect(required('destination.service == "a" || connection.mtls')).to.deep.equal({});
    expect(required('!(destination.service == "a")')).to.deep.equal({});
    expect(required('destination.host == "a"')).to.deep.equal({});
    expect(required('(absent | "a") == "a"')).to.deep.equal({});
  });
});
