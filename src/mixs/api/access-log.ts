/** envoy.service.accesslog.v3.AccessLogService: what requests and connections came to, as reports. */
import { StreamAccessLogsMessage, StreamAccessLogsResponse } from '#gen/envoy/service/accesslog/v3/als.ts';
import type { HandlerContext, Method, ServerStream } from '../../io/grpc/types.ts';
import { MeshError } from '../../lib/errors.ts';
import { bagFrom } from '../../rules/attribute/bags.ts';
import type { ApiOptions } from './api-options.ts';
import type { AttributeMap } from './attribute-map.ts';
import { attributesOfHttp, attributesOfTcp, type Reporter } from './log-attributes.ts';

const PATH = '/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs';
const METHOD = 'StreamAccessLogs';

export function accessLogMethods(options: ApiOptions): readonly Method[] {
  return [{ type: 'stream', path: PATH, handle: (stream, context) => follow(stream, context, options) }];
}

/** One message is worked on at a time, so that a proxy that tells more than is taken has to wait. */
async function follow(stream: ServerStream, { metadata, signal }: HandlerContext, options: ApiOptions): Promise<void> {
  let reporter: Reporter = { metadata, nodeId: '', labels: new Map() };
  for await (const bytes of stream.requests) {
    const message = decoded(bytes, options);
    if (message === undefined) continue;
    // Only the first message of a stream says who speaks.
    const node = message.identifier?.node;
    if (node !== undefined) reporter = { metadata, nodeId: node.id, labels: labelsOf(node.metadata?.['LABELS']) };
    await options.pool.run(() => report(message, reporter, signal, options), signal);
  }
  await stream.write([StreamAccessLogsResponse.encode({}).finish()]);
}

function decoded(bytes: Uint8Array, { malformed }: ApiOptions): StreamAccessLogsMessage | undefined {
  try {
    return StreamAccessLogsMessage.decode(bytes);
  } catch (thrown) {
    malformed(METHOD, MeshError.from(thrown).message);
    return undefined;
  }
}

async function report(
  { logEntries }: StreamAccessLogsMessage,
  reporter: Reporter,
  signal: AbortSignal,
  { inForce, malformed }: ApiOptions,
): Promise<void> {
  const { dispatcher } = inForce();
  const maps = logEntries === undefined ? [] : attributeMaps(logEntries, reporter, malformed);
  const bags = await Promise.all(maps.map(({ values }) => dispatcher.prepare(bagFrom(values), signal)));
  if (bags.length > 0) await dispatcher.report(bags, signal);
}

type Entries = NonNullable<StreamAccessLogsMessage['logEntries']>;

function attributeMaps(entries: Entries, reporter: Reporter, malformed: ApiOptions['malformed']): readonly AttributeMap[] {
  const each = <T>(list: readonly T[], read: (entry: T, reporter: Reporter) => AttributeMap): readonly AttributeMap[] =>
    list.flatMap((entry) => {
      try {
        return [read(entry, reporter)];
      } catch (thrown) {
        malformed(METHOD, MeshError.from(thrown).message);
        return [];
      }
    });
  switch (entries.$case) {
    case 'httpLogs':
      return each(entries.httpLogs.logEntry, attributesOfHttp);
    case 'tcpLogs':
      return each(entries.tcpLogs.logEntry, attributesOfTcp);
  }
}

function labelsOf(labels: unknown): ReadonlyMap<string, string> {
  if (typeof labels !== 'object' || labels === null) return new Map();
  return new Map(Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
