import { expect } from 'chai';
import { checkSetting, DEFAULT_SETTINGS, type SettingName, settingsForPod } from '../../../src/injection/settings.ts';
import type { Problem } from '../../../src/lib/errors.ts';
import { DEFAULT_DOMAIN, namesFor } from '../../../src/lib/names.ts';

const ACCEPTED: readonly (readonly [SettingName, string, string])[] = [
  ['includeOutboundIPRanges', '*', '*'],
  ['includeOutboundIPRanges', '', ''],
  ['includeOutboundIPRanges', ' 10.0.0.0/8 , fd00::/8,10.0.0.0/8', '10.0.0.0/8,fd00::/8'],
  ['excludeOutboundIPRanges', '192.168.1.1', '192.168.1.1'],
  ['includeInboundPorts', '*', '*'],
  ['excludeInboundPorts', '80, 8080', '80,8080'],
  ['excludeOutboundPorts', '65535', '65535'],
  ['proxyImage', 'registry.example:5000/mesh/proxy:1.0-rc_1', 'registry.example:5000/mesh/proxy:1.0-rc_1'],
  ['proxyImage', `mesh/proxy@sha256:${'a'.repeat(64)}`, `mesh/proxy@sha256:${'a'.repeat(64)}`],
  ['proxyCPU', '100m', '100m'],
  ['proxyMemory', '1.5Gi', '1.5Gi'],
  ['proxyCPULimit', '', ''],
  ['logLevel', 'trace', 'trace'],
  ['concurrency', '0', '0'],
  ['discoveryAddress', '[fd00::1]:15010', '[fd00::1]:15010'],
  ['interceptionMode', 'REDIRECT', 'REDIRECT'],
  ['statsdUdpAddress', '', ''],
  ['statsdUdpAddress', '10.0.0.5:8125', '10.0.0.5:8125'],
  ['statsdUdpAddress', '[fd00::1]:8125', '[fd00::1]:8125'],
  ['collectorBAddress', '', ''],
  ['collectorBAddress', 'zipkin.monitoring:9411', 'zipkin.monitoring:9411'],
  ['nativeSidecar', 'true', 'true'],
];

const REFUSED: readonly (readonly [SettingName, string])[] = [
  ['includeOutboundIPRanges', '10.0.0.0/33'],
  ['includeOutboundIPRanges', '10/8'],
  ['includeOutboundIPRanges', '010.0.0.0/8'],
  ['includeOutboundIPRanges', '*,10.0.0.0/8'],
  ['includeOutboundIPRanges', '10.0.0.0/8,'],
  ['includeOutboundIPRanges', '10.0.0.0/8; reboot'],
  ['excludeOutboundIPRanges', '*'],
  ['includeInboundPorts', '0'],
  ['excludeInboundPorts', '65536'],
  ['excludeInboundPorts', '80-90'],
  ['excludeOutboundPorts', 'http'],
  ['proxyImage', ''],
  ['proxyImage', 'mesh/proxy latest'],
  ['proxyImage', 'mesh/proxy\nprivileged: true'],
  ['proxyCPU', 'a lot'],
  ['proxyMemory', '-1Mi'],
  ['logLevel', 'verbose'],
  ['concurrency', '-1'],
  ['discoveryAddress', 'mesh-pilot'],
  ['discoveryAddress', 'mesh-pilot:0'],
  ['discoveryAddress', '[10.0.0.1]:80'],
  ['interceptionMode', 'TPROXY'],
  ['statsdUdpAddress', 'statsd.monitoring:8125'],
  ['statsdUdpAddress', '10.0.0.5'],
  ['statsdUdpAddress', '[10.0.0.5]:8125'],
  ['collectorBAddress', 'http://zipkin:9411/'],
  ['collectorBAddress', 'zipkin'],
  ['nativeSidecar', 'yes'],
];

describe('sidecar settings', () => {
  for (const [name, text, normal] of ACCEPTED) {
    it(`reads ${name} "${text}"`, () => {
      const problems: Problem[] = [];
      expect(checkSetting(name, text, 'here', problems)).to.equal(normal);
      expect(problems).to.deep.equal([]);
    });
  }

  for (const [name, text] of REFUSED) {
    it(`refuses ${name} ${JSON.stringify(text)}`, () => {
      const problems: Problem[] = [];
      checkSetting(name, text, 'here', problems);
      expect(problems).to.have.length(1);
      expect(problems[0]).to.have.property('path', 'here');
    });
  }

  it('are all good by default', () => {
    const problems: Problem[] = [];
    for (const [name, text] of Object.entries(DEFAULT_SETTINGS)) checkSetting(name as SettingName, text, name, problems);
    expect(problems).to.deep.equal([]);
  });

  it('come from annotations of the installation’s own domain', () => {
    const names = namesFor('example.com');
    const problems: Problem[] = [];
    const annotations = {
      'sidecar.example.com/inject': 'true',
      'sidecar.example.com/status': '{}',
      'sidecar.example.com/logLevel': 'debug',
      'traffic.sidecar.example.com/includeOutboundIPRanges': '10.0.0.0/8',
      'sidecar.mesh.io/logLevel': 'not ours here',
    };
    const settings = settingsForPod(annotations, DEFAULT_SETTINGS, names, problems);
    expect(problems).to.deep.equal([]);
    expect(settings).to.deep.equal({ ...DEFAULT_SETTINGS, logLevel: 'debug', includeOutboundIPRanges: '10.0.0.0/8' });
  });

  for (const annotation of [
    'traffic.sidecar.mesh.io/excludeInboundPort',
    'sidecar.mesh.io/initImage',
    'sidecar.mesh.io/constructor',
  ]) {
    it(`refuse the annotation ${annotation}, which nothing reads`, () => {
      const problems: Problem[] = [];
      settingsForPod({ [annotation]: '80' }, DEFAULT_SETTINGS, namesFor(DEFAULT_DOMAIN), problems);
      expect(problems.map(({ path }) => path)).to.deep.equal([`annotation ${annotation}`]);
    });
  }
});
