import { expect } from 'chai';
import { HTTPAccessLogEntry } from '#gen/envoy/data/accesslog/v3/accesslog.ts';
import { StreamAccessLogsMessage } from '#gen/envoy/service/accesslog/v3/als.ts';
import { type LogMessage, logEntries, readLogMessage } from '../../../../src/mixs/api/log-message.ts';

const entry = (host: string) => HTTPAccessLogEntry.fromPartial({ request: { authority: host } });
const hostsOf = (message: LogMessage): readonly (string | undefined)[] =>
  [...logEntries(message)].map(({ bytes }) => HTTPAccessLogEntry.decode(bytes).request?.authority);

describe('a message of the access log', () => {
  const bytes = StreamAccessLogsMessage.encode(
    StreamAccessLogsMessage.fromPartial({
      identifier: { node: { id: 'sidecar~10.0.0.1~a.b~c' }, logName: 'log' },
      logEntries: { $case: 'httpLogs', httpLogs: { logEntry: [entry('a'), entry('b')] } },
    }),
  ).finish();

  it('tells who speaks, and what was', () => {
    const message = readLogMessage(bytes);
    expect(message.identifier?.node?.id).to.equal('sidecar~10.0.0.1~a.b~c');
    expect(message.logs.map(({ kind }) => kind)).to.deep.equal(['http']);
    expect(hostsOf(message)).to.deep.equal(['a', 'b']);
  });

  it('is refused when it is cut off anywhere', () => {
    const whole = readLogMessage(bytes);
    const [identifierEnds = 0] = [bytes.length - (whole.logs[0]?.bytes.length ?? 0) - 2];
    for (let length = 1; length < bytes.length; length++) {
      if (length === identifierEnds) continue;
      expect(() => readLogMessage(bytes.subarray(0, length)), String(length))
        .to.throw('cut off')
        .with.property('code', 'invalid');
    }
  });

  it('gives what comes before the place where its entries are cut off', () => {
    const [logs] = readLogMessage(bytes).logs;
    if (logs === undefined) throw new Error('there are no logs');
    const seen: string[] = [];
    const read = (): void => {
      for (const { bytes: found } of logEntries({
        identifier: undefined,
        logs: [{ ...logs, bytes: logs.bytes.subarray(0, -1) }],
      }))
        seen.push(HTTPAccessLogEntry.decode(found).request?.authority ?? '');
    };
    expect(read).to.throw('cut off');
    expect(seen).to.deep.equal(['a']);
  });
});
