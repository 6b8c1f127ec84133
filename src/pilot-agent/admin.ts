import { request } from 'node:http';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';

/** The proxy's administration port: https://www.envoyproxy.io/docs/envoy/latest/operations/admin */
export interface Admin {
  /** Rejects with a MeshError `unavailable` when the proxy does not answer, or not with 200. */
  get(path: string): Promise<string>;
  post(path: string): Promise<string>;
}

const DEADLINE: Duration = seconds(5);
/** A dump of the configuration of a large mesh has tens of megabytes. */
const MAX_ANSWER_BYTES = 256 << 20;

export function adminAt(port: number): Admin {
  return { get: (path) => call(port, 'GET', path), post: (path) => call(port, 'POST', path) };
}

function call(port: number, method: string, path: string): Promise<string> {
  const failure = (reason: string, cause?: unknown): MeshError =>
    new MeshError('unavailable', `the proxy's administration port 127.0.0.1:${port} ${reason}`, cause);
  return new Promise((resolve, reject) => {
    // A connection of its own: a kept one would count as active while the proxy drains.
    const outgoing = request(
      { host: '127.0.0.1', port, method, path, agent: false, signal: AbortSignal.timeout(DEADLINE) },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size > MAX_ANSWER_BYTES) response.destroy(failure(`answers more than ${MAX_ANSWER_BYTES} bytes`));
        });
        response.on('error', reject);
        response.on('end', () => {
          const body = Buffer.concat(chunks).toString('utf8');
          if (response.statusCode === 200) resolve(body);
          else reject(failure(`answers ${path} with ${response.statusCode}: ${body.trim().slice(0, 200)}`));
        });
      },
    );
    outgoing.on('error', (error) => reject(failure(`does not answer: ${error.message}`, error)));
    outgoing.end();
  });
}
