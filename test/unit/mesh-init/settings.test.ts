import { expect } from 'chai';
import fc from 'fast-check';
import { parseCidr, parseSettings } from '../../../src/mesh-init/settings.ts';
import { initOptions } from '../../harness/init-options.ts';

const problemsOf = (options: Parameters<typeof initOptions>[0]): string[] => {
  const settings = parseSettings(initOptions(options));
  return settings.ok ? [] : settings.problems.map((problem) => `${problem.path}: ${problem.message}`);
};

describe('redirection settings', () => {
  it('capture everything by default and exempt the proxy by user and group', () => {
    expect(parseSettings(initOptions({}))).to.deep.equal({
      ok: true,
      value: {
        outboundPort: 15001,
        inboundPort: 15006,
        proxy: { by: 'owner', uid: 1337, gid: 1337 },
        inboundPorts: { all: true },
        excludedInboundPorts: [],
        outboundRanges: { all: true },
        excludedOutboundRanges: [],
        outboundPorts: [],
        excludedOutboundPorts: [],
      },
    });
  });

  it('take an empty list for nothing, not for everything', () => {
    const settings = parseSettings(initOptions({ 'inbound-ports': [''], 'include-outbound-ranges': [] }));
    expect(settings).to.have.nested.property('value.inboundPorts').that.deep.equals({ all: false, only: [] });
    expect(settings).to.have.nested.property('value.outboundRanges').that.deep.equals({ all: false, only: [] });
  });

  it('exempt by mark instead of by user where a mark is given', () => {
    expect(parseSettings(initOptions({ 'proxy-mark': 7 })))
      .to.have.nested.property('value.proxy')
      .that.deep.equals({ by: 'mark', mark: 7 });
  });

  for (const [options, problem] of [
    [{ 'exclude-inbound-ports': ['22', 'ssh'] }, '--exclude-inbound-ports: "ssh" is not a port (1 to 65535)'],
    [{ 'inbound-ports': ['0'] }, '--inbound-ports: "0" is not a port (1 to 65535)'],
    [{ 'proxy-port': 0 }, '--proxy-port: "0" is not a port (1 to 65535)'],
    [{ 'exclude-outbound-ports': ['70000'] }, '--exclude-outbound-ports: "70000" is not a port (1 to 65535)'],
    [
      { 'include-outbound-ranges': ['10.0.0.0/33'] },
      '--include-outbound-ranges: "10.0.0.0/33" is not an address range such as 10.0.0.0/8 or fd00::/8',
    ],
    [{ 'inbound-ports': ['*', '80'] }, '--inbound-ports: "*,80" mixes "*" with other values; give one or the other'],
    [
      { 'inbound-capture-port': 15001 },
      '--inbound-capture-port: 15001 is the --proxy-port too; inbound and outbound need a port each',
    ],
  ] as const) {
    it(`refuse ${JSON.stringify(options)}`, () => {
      expect(problemsOf(options)).to.deep.equal([problem]);
    });
  }

  it('name every problem at once', () => {
    expect(problemsOf({ 'inbound-ports': ['x'], 'exclude-outbound-ranges': ['y', 'z'] })).to.have.length(3);
  });
});

describe('address ranges', () => {
  for (const [text, printed] of [
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['10.1.2.3', '10.1.2.3/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['fd00::1/8', 'fd00::/8'],
    ['2001:DB8::1', '2001:db8::1/128'],
  ] as const) {
    it(`reads ${text} as ${printed}`, () => {
      expect(parseCidr(text)?.text).to.equal(printed);
    });
  }

  for (const text of [
    '',
    '10.0.0',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '010.0.0.1',
    '::ffff:1.2.3.4/128',
    'fe80::1%eth0',
    '::/129',
    '-j ACCEPT',
  ]) {
    it(`refuses "${text}"`, () => {
      expect(parseCidr(text)).to.equal(undefined);
    });
  }

  it('never lets a text into the rules that is not an address range', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseCidr(text)?.text ?? '0.0.0.0/0').to.match(/^[0-9a-f.:]+\/[0-9]+$/);
      }),
    );
  });
});
