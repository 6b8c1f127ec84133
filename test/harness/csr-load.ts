/** Asks a certificate authority for many certificates at once over one connection, on node:http2 alone. */
import { type ClientHttp2Session, connect, constants } from 'node:http2';

export interface CsrLoadOptions {
  readonly port: number;
  readonly rootPem: string;
  /** A service account token; undefined: the client certificate proves who asks. */
  readonly token?: string;
  readonly identity?: { readonly key: string; readonly cert: string };
}

export interface CsrAnswer {
  /** gRPC status code. */
  readonly status: string;
  readonly message: string;
  /** The response message, without its frame header. */
  readonly body: Buffer;
}

/** CreateCertificate's request with just a CSR: field 1, length-delimited. */
export function createCertificateRequest(csrPem: string): Buffer {
  const csr = Buffer.from(csrPem);
  const length: number[] = [];
  for (let left = csr.length; ; left >>>= 7) {
    if (left < 0x80) {
      length.push(left);
      break;
    }
    length.push((left & 0x7f) | 0x80);
  }
  return Buffer.concat([Buffer.from([0x0a, ...length]), csr]);
}

/** The strings of field 1, which is all that CreateCertificate's response has. */
export function certificatesIn(body: Buffer): readonly string[] {
  const texts: string[] = [];
  for (let at = 0; at < body.length; ) {
    if (body[at] !== 0x0a) throw new Error(`field 1 as text is expected, not ${body[at]}`);
    let length = 0;
    let shift = 0;
    let byte: number;
    at += 1;
    do {
      byte = body[at++] ?? 0;
      length |= (byte & 0x7f) << shift;
      shift += 7;
    } while (byte >= 0x80);
    texts.push(body.subarray(at, at + length).toString());
    at += length;
  }
  return texts;
}

const CREATE_CERTIFICATE = '/istio.v1.auth.IstioCertificateService/CreateCertificate';

export class CsrLoad {
  readonly #session: ClientHttp2Session;
  readonly #headers: Readonly<Record<string, string>>;
  readonly port: number;

  private constructor(session: ClientHttp2Session, { token, port }: CsrLoadOptions) {
    this.#session = session;
    this.port = port;
    this.#headers = {
      ':method': 'POST',
      'content-type': 'application/grpc',
      te: 'trailers',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
  }

  static connect(options: CsrLoadOptions): Promise<CsrLoad> {
    const { port, rootPem, identity } = options;
    const session = connect(`https://127.0.0.1:${port}`, { ca: rootPem, servername: 'mesh-citadel', ...identity });
    return new Promise((resolve, reject) => {
      session.once('error', reject);
      session.once('remoteSettings', () => resolve(new CsrLoad(session, options)));
    });
  }

  /** One call; rejects only when the connection breaks before there is a status. */
  call(message: Buffer, path = CREATE_CERTIFICATE): Promise<CsrAnswer> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({ ...this.#headers, ':path': path });
      const chunks: Buffer[] = [];
      let status: Readonly<Record<string, unknown>> = {};
      stream.on('response', (headers) => {
        if (headers['grpc-status'] !== undefined) status = headers;
      });
      stream.on('trailers', (trailers) => {
        status = trailers;
      });
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', reject);
      stream.on('close', () => {
        if (status['grpc-status'] === undefined) {
          reject(new Error(`the stream was closed without a status (${stream.rstCode})`));
          return;
        }
        const message = decodeURIComponent(String(status['grpc-message'] ?? ''));
        resolve({ status: String(status['grpc-status']), message, body: Buffer.concat(chunks).subarray(5) });
      });
      const header = Buffer.alloc(5);
      header.writeUInt32BE(message.length, 1);
      stream.end(Buffer.concat([header, message]));
    });
  }

  close(): void {
    this.#session.close();
    this.#session.destroy(undefined, constants.NGHTTP2_NO_ERROR);
  }
}
