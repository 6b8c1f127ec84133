/** Rules, and what a sidecar sends, to measure mixs with. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { GLOBAL_WORDS } from '../src/mixs/attribute/global-words.ts';
import { compressed } from '../test/fakes/compressed-attributes.ts';
import { ruleObject } from '../test/fakes/rule-objects.ts';

/** Rules each for a service of its own, all for one handler; every one asks for a header too. */
export function rulesFor(count: number): string {
  const own = Array.from({ length: count }, (_, index) =>
    ruleObject('rule', `rule-${index}`, {
      match: `destination.service == "service-${index}.shop.svc.cluster.local" && request.headers["x-refuse"] == "yes"`,
      actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }],
    }),
  );
  const reports = Array.from({ length: count }, (_, index) =>
    ruleObject('rule', `count-${index}`, {
      match: `destination.service == "service-${index}.shop.svc.cluster.local"`,
      actions: [{ handler: 'prom.prometheus', instances: ['requests.metric'] }],
    }),
  );
  const shared = [
    ruleObject('denier', 'deny', { status: { code: 7 } }),
    ruleObject('checknothing', 'nothing'),
    ruleObject('metric', 'requests', {
      value: 'response.size | 0',
      dimensions: { source: 'source.namespace | "unknown"', service: 'destination.service', code: 'response.code | 0' },
    }),
    ruleObject('prometheus', 'prom', {
      metrics: [{ name: 'bytes', kind: 'COUNTER', instanceName: 'requests.metric', labelNames: ['source', 'service', 'code'] }],
    }),
  ];
  return [...shared, ...own, ...reports].map((object) => JSON.stringify(object)).join('\n---\n');
}

/** What a sidecar tells of a request. */
function attributes(service: number): Uint8Array {
  const word = (text: string): number => GLOBAL_WORDS.indexOf(text);
  const words = [
    '10.1.2.3',
    `service-${service}.shop.svc.cluster.local`,
    '/cart/items/42',
    'shop.example.com',
    'curl/8',
    'sleep',
    'x-user',
    'me',
  ];
  return compressed({
    words,
    strings: [
      [word('destination.service'), -2],
      [word('request.path'), -3],
      [word('request.host'), -4],
      [word('request.method'), word('GET')],
      [word('request.scheme'), word('http')],
      [word('request.useragent'), -5],
      [word('source.namespace'), -6],
      [word('context.protocol'), word('http')],
    ],
    int64s: [
      [word('request.size'), 128n],
      [word('response.code'), 200n],
      [word('response.size'), 4096n],
      [word('destination.port'), 8080n],
    ],
    bools: [[word('connection.mtls'), true]],
    timestamps: [[word('request.time'), [1_700_000_000n, 5]]],
    durations: [[word('response.duration'), [0n, 12_000_000]]],
    bytes: [[word('source.ip'), [10, 1, 2, 3]]],
    string_maps: [
      [
        word('request.headers'),
        [
          [word('host'), -4],
          [word('user-agent'), -5],
          [-7, -8],
        ],
      ],
    ],
  });
}

/** A CheckRequest or ReportRequest about the service of this number. */
export function mixerMessage(service: number, kind: 'check' | 'report'): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).bytes(attributes(service));
  writer.tag(kind === 'check' ? 2 : 3, WireType.Varint).uint32(GLOBAL_WORDS.length);
  return writer.finish();
}
