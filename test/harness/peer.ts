import { Agent, get } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { Sidecar } from './sidecar.ts';

/** A peer of the mesh that speaks mutual TLS to the sidecar. */
export class Peer {
  readonly #agent: Agent;
  readonly #port: number;

  private constructor(agent: Agent, port: number) {
    this.#agent = agent;
    this.#port = port;
  }

  static async create(sidecar: Sidecar, keepAlive: boolean, roots = sidecar.root.pem): Promise<Peer> {
    const { keyPem, chainPem } = await sidecar.root.identity({ type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/client' });
    const tls = { key: keyPem, cert: chainPem, ca: roots, checkServerIdentity: () => undefined };
    return new Peer(new Agent({ ...tls, keepAlive, maxSockets: 1, maxCachedSessions: 0 }), sidecar.ports.inbound);
  }

  /** The answer's body, with the serial number of the server's certificate and the local port of the connection. */
  get(path: string): Promise<{
    readonly body: string;
    readonly serial: string;
    readonly localPort: number | undefined;
    readonly closes: boolean;
  }> {
    return new Promise((resolve, reject) => {
      const request = get({ host: '127.0.0.1', port: this.#port, path, agent: this.#agent }, (response) => {
        const socket = response.socket as TLSSocket;
        const { localPort } = socket;
        const serial = socket.getPeerCertificate().serialNumber;
        let body = '';
        response.on('data', (chunk) => (body += chunk));
        response.on('end', () => resolve({ body, serial, localPort, closes: response.headers['connection'] === 'close' }));
        response.on('error', reject);
      });
      request.on('error', reject);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
