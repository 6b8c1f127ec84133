import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';
import { text } from 'node:stream/consumers';

export interface WebhookCall {
  readonly node: string;
  readonly typeUrl: string;
  readonly resources: readonly Readonly<Record<string, unknown>>[];
}

/** A webhook on loopback or a Unix socket that answers as a test says. */
export class TestWebhook {
  readonly calls: WebhookCall[] = [];
  answer: (call: WebhookCall, response: ServerResponse) => void = (_call, response) => response.writeHead(204).end();
  readonly #server: Server;

  constructor() {
    this.#server = createServer(async (request, response) => {
      const { typeUrl, resources } = JSON.parse(await text(request)) as WebhookCall;
      const node = new URL(request.url ?? '', 'http://x').searchParams.get('node') ?? '';
      const call = { node, typeUrl, resources };
      this.calls.push(call);
      this.answer(call, response);
    });
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/review`;
  }

  async listen(options: ListenOptions = { port: 0, host: '127.0.0.1' }): Promise<void> {
    this.#server.listen(options);
    await once(this.#server, 'listening');
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close').catch(() => {});
  }
}

export function answerJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
