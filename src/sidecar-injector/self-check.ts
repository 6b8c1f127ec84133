/** The webhook called by itself over HTTPS, as the API server would. */
import type { X509Certificate } from 'node:crypto';
import { request } from 'node:https';
import { TLSSocket } from 'node:tls';
import { MeshError } from '../lib/errors.ts';
import { INJECT_PATH } from './webhook.ts';

const DEADLINE_MS = 5_000;

/** Rejects unless a review is answered with the certificate that is in force, and that certificate leads to the roots. */
export async function checkWebhook(port: number, rootsPem: string, leaf: X509Certificate): Promise<void> {
  const review = {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { uid: 'self-check', operation: 'CONNECT' },
  };
  const { status, fingerprint } = await post(port, rootsPem, JSON.stringify(review));
  if (status !== 200) throw new MeshError('unavailable', `a review was answered with status ${status}`);
  if (fingerprint !== leaf.fingerprint256)
    throw new MeshError('unavailable', 'something else answers on the port of the webhook');
}

interface Answer {
  readonly status: number;
  readonly fingerprint: string;
}

function post(port: number, rootsPem: string, body: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request({
      host: 'localhost',
      port,
      path: INJECT_PATH,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      ca: rootsPem,
      agent: false,
      signal: AbortSignal.timeout(DEADLINE_MS),
      // The API server calls the webhook by the name of its Service, which the certificate is for; here it is called by address.
      checkServerIdentity: () => undefined,
    });
    call.on('response', (response) => {
      const certificate = response.socket instanceof TLSSocket ? response.socket.getPeerX509Certificate() : undefined;
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode ?? 0, fingerprint: certificate?.fingerprint256 ?? '' }));
    });
    call.on('error', reject);
    call.end(body);
  });
}
