/** Calls to the webhook: bounded in time, in size and in number. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { MeshError } from '../lib/errors.ts';
import type { WebhookEndpoint } from './webhook-endpoint.ts';

export interface WebhookAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

export interface WebhookClient {
  /** Posts JSON for a node. Rejects with a MeshError: `deadline_exceeded`, `unavailable`, `resource_exhausted`. */
  call(nodeId: string, body: string): Promise<WebhookAnswer>;
  close(): void;
}

/** For a whole call, waiting for its turn included. */
const DEADLINE_MS = 1_000;
const MAX_CONNECTIONS = 8;
const MAX_WAITING = 256;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export function createWebhookClient(endpoint: WebhookEndpoint): WebhookClient {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS });
  let calls = 0;

  return {
    async call(nodeId, body) {
      if (calls >= MAX_WAITING) throw new MeshError('resource_exhausted', `${calls} calls wait for the webhook already`);
      calls += 1;
      try {
        return await post(endpoint, agent, nodeId, body);
      } finally {
        calls -= 1;
      }
    },
    close: () => agent.destroy(),
  };
}

async function post(endpoint: WebhookEndpoint, agent: Agent, nodeId: string, body: string): Promise<WebhookAnswer> {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const path = `${endpoint.type === 'http' ? endpoint.path : '/'}?node=${encodeURIComponent(nodeId)}`;
  const target = endpoint.type === 'http' ? { host: endpoint.host, port: endpoint.port } : { socketPath: endpoint.socketPath };
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      request({ ...target, path, method: 'POST', agent, headers, signal }, resolve)
        .on('error', reject)
        .end(body);
    });
    const contentType = response.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
    return { status: response.statusCode ?? 0, contentType, body: await readBody(response) };
  } catch (thrown) {
    if (signal.aborted) throw new MeshError('deadline_exceeded', `no answer within ${DEADLINE_MS} ms`, thrown);
    throw MeshError.from(thrown, 'unavailable');
  }
}

async function readBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    const bytes: Buffer = chunk;
    size += bytes.length;
    if (size > MAX_ANSWER_BYTES) throw new MeshError('resource_exhausted', `the answer is over ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
