/** envoy.service.accesslog.v3.AccessLogService: what requests and connections came to, as reports. */
import type { Node } from '#gen/envoy/config/core/v3/base.ts';
import { HTTPAccessLogEntry, TCPAccessLogEntry } from '#gen/envoy/data/accesslog/v3/accesslog.ts';
import { StreamAccessLogsResponse } from '#gen/envoy/service/accesslog/v3/als.ts';
import type { HandlerContext, Method, ServerStream } from '../../io/grpc/types.ts';
import { MeshError } from '../../lib/errors.ts';
import type { AttributeBag } from '../../rules/attribute/bag.ts';
import { bagFrom } from '../../rules/attribute/bags.ts';
import type { ApiOptions } from './api-options.ts';
import type { AttributeMap } from './attribute-map.ts';
import { attributesOfHttp, attributesOfTcp, type Reporter } from './log-attributes.ts';
import { type LogKind, type LogMessage, logEntries, readLogMessage } from './log-message.ts';
import { inPortions } from './portions.ts';

const PATH = '/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs';
const METHOD = 'StreamAccessLogs';
/** Of one message; Envoy sends some dozens. */
const MAX_ENTRIES = 10_000;

export function accessLogMethods(options: ApiOptions): readonly Method[] {
  return [{ type: 'stream', path: PATH, handle: (stream, context) => follow(stream, context, options) }];
}

/** One message is worked on at a time, so that a proxy that tells more than is taken has to wait. */
async function follow(stream: ServerStream, { metadata, signal }: HandlerContext, options: ApiOptions): Promise<void> {
  let reporter: Reporter = { metadata, nodeId: '', labels: new Map(), serviceAccount: '' };
  for await (const bytes of stream.requests) {
    const message = readable(bytes, options);
    if (message === undefined) continue;
    // Only the first message of a stream says who speaks.
    const node = message.identifier?.node;
    if (node !== undefined) reporter = reporterOf(node, metadata);
    await options.pool.wait(() => report(message, reporter, signal, options), signal);
  }
  await stream.write([StreamAccessLogsResponse.encode({}).finish()]);
}

function readable(bytes: Uint8Array, { malformed }: ApiOptions): LogMessage | undefined {
  try {
    return readLogMessage(bytes);
  } catch (thrown) {
    malformed(METHOD, MeshError.from(thrown).message);
    return undefined;
  }
}

async function report(message: LogMessage, reporter: Reporter, signal: AbortSignal, options: ApiOptions): Promise<void> {
  const { dispatcher } = options.inForce();
  await inPortions(bagsOf(message, reporter, options), signal, (bags) => dispatcher.report(bags, signal));
}

/** What can be read of the entries; the others are left out, and counted. */
function* bagsOf(message: LogMessage, reporter: Reporter, { malformed }: ApiOptions): Generator<AttributeBag> {
  let entries = 0;
  try {
    for (const { kind, bytes } of logEntries(message)) {
      if (++entries > MAX_ENTRIES) throw new MeshError('invalid', `a message has at most ${MAX_ENTRIES} entries`);
      const attributes = attributesOf(kind, bytes, reporter, malformed);
      if (attributes !== undefined) yield bagFrom(attributes.values);
    }
  } catch (thrown) {
    malformed(METHOD, MeshError.from(thrown).message);
  }
}

function attributesOf(
  kind: LogKind,
  bytes: Uint8Array,
  reporter: Reporter,
  malformed: ApiOptions['malformed'],
): AttributeMap | undefined {
  try {
    return kind === 'http'
      ? attributesOfHttp(HTTPAccessLogEntry.decode(bytes), reporter)
      : attributesOfTcp(TCPAccessLogEntry.decode(bytes), reporter);
  } catch (thrown) {
    malformed(METHOD, MeshError.from(thrown).message);
    return undefined;
  }
}

function reporterOf({ id, metadata: own }: Node, metadata: Reporter['metadata']): Reporter {
  const account = own?.['SERVICE_ACCOUNT'];
  const serviceAccount = typeof account === 'string' ? account : '';
  return { metadata, nodeId: id, labels: labelsOf(own?.['LABELS']), serviceAccount };
}

function labelsOf(labels: unknown): ReadonlyMap<string, string> {
  if (typeof labels !== 'object' || labels === null) return new Map();
  return new Map(Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
