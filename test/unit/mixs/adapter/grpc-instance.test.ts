import { loadSync } from '@grpc/proto-loader';
import { expect } from 'chai';
import { encodeInstance } from '../../../../src/mixs/adapter/grpc-instance.ts';
import type { BuiltInstance } from '../../../../src/rules/template/instances.ts';

/** A reader of the published contract that knows nothing of ours. */
const CONTRACT = loadSync('mesh/adapter/v1/adapter.proto', { includeDirs: ['proto'], longs: String, enums: String });

describe('instances for gRPC adapters', () => {
  function read(built: BuiltInstance): { readonly name: string; readonly template: string; readonly fields: object } {
    const service = CONTRACT['mesh.adapter.v1.Adapter'] as unknown as {
      readonly HandleCheck: { requestDeserialize(bytes: Buffer): { readonly instance: ReturnType<typeof read> } };
    };
    const instance = encodeInstance(built);
    expect(instance.length).to.be.lessThan(16_384);
    const head = Buffer.from([0x12, (instance.length & 0x7f) | 0x80, instance.length >> 7]);
    return service.HandleCheck.requestDeserialize(Buffer.concat([head, instance])).instance;
  }

  it('have values of every type, and lose none of their digits', () => {
    const { fields, ...rest } = read({
      template: 'metric',
      values: {
        name: 'm.metric.ns',
        value: { type: 'INT64', value: -9_007_199_254_740_993n },
        dimensions: {
          text: { type: 'STRING', value: 'ä' },
          double: { type: 'DOUBLE', value: 0.1 },
          bool: { type: 'BOOL', value: false },
          time: { type: 'TIMESTAMP', value: 1_527_854_400_123_456_789n },
          before1970: { type: 'TIMESTAMP', value: -1n },
          span: { type: 'DURATION', value: -1_500_000_001n },
          v4: { type: 'IP_ADDRESS', value: '10.0.0.1' },
          v6: { type: 'IP_ADDRESS', value: '2001:db8::1' },
          email: { type: 'EMAIL_ADDRESS', value: 'a@b.c' },
          uri: { type: 'URI', value: 'http://x/' },
          dns: { type: 'DNS_NAME', value: 'x.y' },
          map: { type: 'STRING_MAP', value: new Map([['k', 'v']]) },
        },
        monitoredResourceType: undefined,
        monitoredResourceDimensions: {},
      },
    });
    expect(rest).to.deep.equal({ name: 'm.metric.ns', template: 'metric' });
    expect(fields).to.deep.equal({
      value: { int64Value: '-9007199254740993' },
      dimensions: {
        mapValue: {
          entries: {
            text: { stringValue: 'ä' },
            double: { doubleValue: 0.1 },
            bool: { boolValue: false },
            time: { timestampValue: { seconds: '1527854400', nanos: 123_456_789 } },
            before1970: { timestampValue: { seconds: '-1', nanos: 999_999_999 } },
            span: { durationValue: { seconds: '-1', nanos: -500_000_001 } },
            v4: { ipAddressValue: Buffer.from([10, 0, 0, 1]) },
            v6: { ipAddressValue: Buffer.from('20010db8000000000000000000000001', 'hex') },
            email: { emailAddressValue: 'a@b.c' },
            uri: { uriValue: 'http://x/' },
            dns: { dnsNameValue: 'x.y' },
            map: { stringMapValue: { entries: { k: 'v' } } },
          },
        },
      },
      monitoredResourceDimensions: { mapValue: {} },
    });
  });

  it('have the fields of their template by name, nested as they are configured, and none that is absent', () => {
    const subject = { user: 'alice', groups: undefined, properties: { size: { type: 'INT64', value: 5n } } } as const;
    const { fields } = read({ template: 'authorization', values: { name: 'a', subject, action: { path: '/', properties: {} } } });
    expect(fields).to.deep.equal({
      subject: {
        mapValue: {
          entries: {
            user: { stringValue: 'alice' },
            properties: { mapValue: { entries: { size: { int64Value: '5' } } } },
          },
        },
      },
      action: { mapValue: { entries: { path: { stringValue: '/' }, properties: { mapValue: {} } } } },
    });
  });
});
