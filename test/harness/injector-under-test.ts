/** A sidecar-injector in this process, with files of its own, called over HTTPS as an API server does. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DEFAULT_INJECTION_CONFIG } from '../../src/injection/default-config.ts';
import { generateKeyPair, privateKeyPem } from '../../src/io/x509/key.ts';
import { injectorFlags } from '../../src/sidecar-injector/flags.ts';
import { run } from '../../src/sidecar-injector/main.ts';
import { leafTemplate, makeRoot, signLeaf, type TestCa } from './certificates.ts';
import { freePort } from './free-port.ts';
import { InProcess } from './in-process.ts';

const HOST = 'mesh-sidecar-injector.mesh-system.svc';
/** An API server that is given a URL calls it by address. */
const NAMES = [
  { type: 'dns', value: HOST },
  { type: 'ip', value: '127.0.0.1' },
] as const;
const DAY_MS = 24 * 3600 * 1000;
const pod = { metadata: { name: 'httpbin' }, spec: { containers: [{ name: 'httpbin', image: 'httpbin' }] } };

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

export class InjectorUnderTest {
  readonly dir: string;
  readonly port: number;
  readonly root: TestCa;
  #injector: InProcess | undefined;

  private constructor(dir: string, port: number, root: TestCa) {
    this.dir = dir;
    this.port = port;
    this.root = root;
  }

  /** With every file that it needs, not started. */
  static async create(): Promise<InjectorUnderTest> {
    const made = new InjectorUnderTest(mkdtempSync(join(tmpdir(), 'mesh-injector-')), await freePort(), await newRoot());
    await made.writeCertificate(made.root);
    made.write('inject', DEFAULT_INJECTION_CONFIG);
    made.write('mesh', '{}');
    made.write('webhook.yaml', webhookManifest());
    return made;
  }

  async start(options: Readonly<Record<string, unknown>> = {}): Promise<InProcess> {
    const { dir, port } = this;
    const files = { caCertFile: this.file('ca.pem'), tlsCertFile: this.file('cert.pem'), tlsKeyFile: this.file('key.pem') };
    const configuration = { injectConfig: this.file('inject'), meshConfig: this.file('mesh') };
    const given = { ...files, ...configuration, orchconfig: dir, port, ...options };
    this.#injector = await InProcess.start(run, injectorFlags, given, 'serving the injection webhook');
    return this.#injector;
  }

  async remove(): Promise<void> {
    await this.#injector?.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  file(name: string): string {
    return join(this.dir, name);
  }

  read(name: string): string {
    return readFileSync(this.file(name), 'utf8');
  }

  write(name: string, content: string): void {
    writeFileSync(this.file(name), content);
  }

  async writeCertificate(ca: TestCa): Promise<void> {
    const pair = await generateKeyPair('ec-p256');
    const leaf = await signLeaf(ca, leafTemplate(pair, { ...lasting(), names: NAMES }));
    this.write('key.pem', privateKeyPem(pair.privateKey).reveal());
    this.write('cert.pem', leaf.toString());
    this.write('ca.pem', ca.certificate.toString());
  }

  requestOptions(ca: TestCa = this.root): RequestOptions {
    return {
      host: '127.0.0.1',
      port: this.port,
      path: '/inject',
      method: 'POST',
      servername: HOST,
      ca: ca.certificate.toString(),
      agent: false,
      headers: { 'content-type': 'application/json' },
    };
  }

  post(body: string | Uint8Array, options: RequestOptions = {}): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const call = request({ ...this.requestOptions(), ...options }, (response) => void answerOf(response).then(resolve, reject));
      call.on('error', reject);
      call.end(body);
    });
  }

  /** The patch, as text, that a plain pod gets. */
  async inject(ca: TestCa = this.root): Promise<string> {
    const { response } = JSON.parse((await this.post(review(), this.requestOptions(ca))).text);
    return Buffer.from(response.patch ?? '', 'base64').toString();
  }
}

export async function answerOf(response: IncomingMessage): Promise<HttpAnswer> {
  return { status: response.statusCode ?? 0, text: await text(response) };
}

/** The review of a plain pod. */
export function review(uid = 'u1'): string {
  return JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { uid, kind: { group: '', kind: 'Pod' }, namespace: 'foo', operation: 'CREATE', object: pod },
  });
}

function lasting() {
  return { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
}

export function newRoot(): Promise<TestCa> {
  return makeRoot('ec-p256', lasting());
}

export function webhookManifest(): string {
  return `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: mesh-sidecar-injector
webhooks:
- name: sidecar-injector.mesh.io
  clientConfig:
    service: {name: mesh-sidecar-injector, namespace: mesh-system, path: /inject}
`;
}
