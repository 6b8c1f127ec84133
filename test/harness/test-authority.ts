import { randomBytes, X509Certificate } from 'node:crypto';
import { IstioCertificateRequest, IstioCertificateResponse } from '#gen/istio/v1/auth/ca.ts';
import { createGrpcServer } from '../../src/io/grpc/server.ts';
import { type GrpcServer, unary } from '../../src/io/grpc/types.ts';
import { silentLogger } from '../../src/io/log/logger.ts';
import { type IssuerKey, signCertificate, signRoot } from '../../src/io/x509/certificate.ts';
import { readDetails } from '../../src/io/x509/certificate-details.ts';
import { parseCsr } from '../../src/io/x509/csr-parse.ts';
import { generateKeyPair, type KeyPair, privateKeyPem } from '../../src/io/x509/key.ts';
import type { SubjectAltName } from '../../src/io/x509/names.ts';
import { encodePem } from '../../src/io/x509/pem.ts';
import { validityFrom } from '../../src/io/x509/template.ts';
import { type Duration, seconds } from '../../src/lib/duration.ts';
import { MeshError } from '../../src/lib/errors.ts';

/** A root of its own that signs whatever a test needs, right or wrong. */
export class TestRoot {
  readonly pem: string;
  readonly #key: IssuerKey;

  private constructor(pem: string, key: IssuerKey) {
    this.pem = pem;
    this.#key = key;
  }

  static async create(now = new Date()): Promise<TestRoot> {
    const { publicKey, privateKey } = await generateKeyPair('ec-p256');
    const template = {
      subject: { organization: 'test root' },
      names: [],
      publicKey,
      serial: serial(),
      use: { type: 'ca' },
    } as const;
    const pem = encodePem('CERTIFICATE', await signRoot({ ...template, ...validityFrom(now, seconds(3600)) }, privateKey));
    const details = readDetails(new X509Certificate(pem));
    if (!details.ok) throw new Error('the root cannot be read');
    return new TestRoot(pem, { subjectDer: details.value.subjectDer, keyId: details.value.subjectKeyId, privateKey });
  }

  /** A certificate for TLS, as PEM. */
  async issue(
    publicKey: KeyPair['publicKey'],
    names: readonly SubjectAltName[],
    ttl: Duration = seconds(1800),
    now = new Date(),
  ): Promise<string> {
    const use = { type: 'tls', server: true, client: true } as const;
    const template = { subject: {}, names, publicKey, serial: serial(), use, ...validityFrom(now, ttl) };
    return encodePem('CERTIFICATE', await signCertificate(template, this.#key));
  }

  /** A key and its certificate, for a server or a peer of the workload. */
  async identity(...names: readonly SubjectAltName[]): Promise<{ readonly keyPem: string; readonly chainPem: string }> {
    const pair = await generateKeyPair('ec-p256');
    return { keyPem: privateKeyPem(pair.privateKey).reveal(), chainPem: await this.issue(pair.publicKey, names) };
  }
}

const serial = (): Uint8Array => randomBytes(16);

/** A certificate authority as the agent sees it: IstioCertificateService over TLS on loopback. */
export class TestAuthority {
  /** What the next certificates are. */
  signer: TestRoot;
  ttl: Duration = seconds(1800);
  spiffeId = 'spiffe://cluster.local/ns/foo/sa/web';
  /** Whether requests are left without an answer. */
  silent = false;
  /** Bearer tokens of the requests, in order. */
  readonly tokens: string[] = [];
  readonly #root: TestRoot;
  #server: GrpcServer | undefined;

  constructor(root: TestRoot) {
    this.#root = root;
    this.signer = root;
  }

  get port(): number {
    return this.#server?.port ?? 0;
  }

  async listen(port = 0): Promise<void> {
    const identity = await this.#root.identity({ type: 'ip', value: '127.0.0.1' }, { type: 'dns', value: 'localhost' });
    const method = unary(
      '/istio.v1.auth.IstioCertificateService/CreateCertificate',
      IstioCertificateRequest,
      IstioCertificateResponse,
      async (request, context) => {
        this.tokens.push(context.metadata.get('authorization') ?? '');
        if (this.silent) return new Promise(() => {});
        const csr = parseCsr(request.csr);
        if (!csr.ok) throw new MeshError('invalid', 'no request');
        const leaf = await this.signer.issue(csr.value.publicKey, [{ type: 'uri', value: this.spiffeId }], this.ttl);
        return { certChain: [leaf, this.signer.pem] };
      },
    );
    this.#server = createGrpcServer({ methods: [method], tls: { certificate: () => identity } }, silentLogger);
    await this.#server.listen({ host: '127.0.0.1', port });
  }

  async close(): Promise<void> {
    await this.#server?.close(0);
  }
}
