/** The keys and certificates of a test cluster, made anew for each, and the kubeconfig files that hold them. */
import { randomBytes, X509Certificate } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type IssuerKey, signCertificate, signRoot } from '../../src/io/x509/certificate.ts';
import { readDetails } from '../../src/io/x509/certificate-details.ts';
import { generateKeyPair, privateKeyPem } from '../../src/io/x509/key.ts';
import type { SubjectAltName, SubjectName } from '../../src/io/x509/names.ts';
import { encodePem } from '../../src/io/x509/pem.ts';
import { validityFrom } from '../../src/io/x509/template.ts';
import { seconds } from '../../src/lib/duration.ts';

/** A cluster of `npm run cluster:up` may be left running for long. */
const TTL = seconds(365 * 24 * 3600);

/** The first address of the service range, which every API server has as `kubernetes.default`. */
const SERVER_NAMES: readonly SubjectAltName[] = [
  { type: 'ip', value: '127.0.0.1' },
  { type: 'ip', value: '10.96.0.1' },
  { type: 'dns', value: 'localhost' },
  { type: 'dns', value: 'kubernetes' },
  { type: 'dns', value: 'kubernetes.default' },
  { type: 'dns', value: 'kubernetes.default.svc' },
  { type: 'dns', value: 'kubernetes.default.svc.cluster.local' },
];

export interface ClusterFiles {
  readonly authority: string;
  readonly authorityKey: string;
  readonly serverCertificate: string;
  readonly serverKey: string;
  /** What the API server shows to nodes. */
  readonly kubeletClientCertificate: string;
  readonly kubeletClientKey: string;
  /** Signs service account tokens. */
  readonly tokenKey: string;
  /** How the API server reaches webhooks. */
  readonly egress: string;
  /** Of a user in `system:masters`. */
  readonly adminConfig: string;
  readonly controllerConfig: string;
}

export function clusterFiles(directory: string): ClusterFiles {
  const pki = join(directory, 'pki');
  return {
    authority: join(pki, 'ca.crt'),
    authorityKey: join(pki, 'ca.key'),
    serverCertificate: join(pki, 'apiserver.crt'),
    serverKey: join(pki, 'apiserver.key'),
    kubeletClientCertificate: join(pki, 'apiserver-kubelet-client.crt'),
    kubeletClientKey: join(pki, 'apiserver-kubelet-client.key'),
    tokenKey: join(pki, 'service-accounts.key'),
    egress: join(directory, 'egress.json'),
    adminConfig: join(directory, 'kubeconfig'),
    controllerConfig: join(directory, 'controller-manager.kubeconfig'),
  };
}

/** Writes them all, readable for their owner only. */
export async function writeCredentials(directory: string, server: string): Promise<void> {
  const files = clusterFiles(directory);
  await mkdir(join(directory, 'pki'), { recursive: true, mode: 0o700 });
  const [authority, tokenKey] = await Promise.all([createAuthority(), generateKeyPair('rsa-2048')]);
  const [apiServer, kubeletClient, admin, controllers] = await Promise.all([
    authority.issue({ commonName: 'kube-apiserver' }, SERVER_NAMES),
    authority.issue({ organization: 'system:masters', commonName: 'kube-apiserver-kubelet-client' }),
    authority.issue({ organization: 'system:masters', commonName: 'admin' }),
    authority.issue({ commonName: 'system:kube-controller-manager' }),
  ]);
  const contents: readonly (readonly [string, string])[] = [
    [files.authority, authority.certificate],
    [files.authorityKey, authority.key],
    [files.serverCertificate, apiServer.certificate],
    [files.serverKey, apiServer.key],
    [files.kubeletClientCertificate, kubeletClient.certificate],
    [files.kubeletClientKey, kubeletClient.key],
    [files.tokenKey, privateKeyPem(tokenKey.privateKey).reveal()],
    [files.adminConfig, kubeconfig(server, authority.certificate, 'admin', admin)],
    [files.controllerConfig, kubeconfig(server, authority.certificate, 'controller-manager', controllers)],
  ];
  await Promise.all(contents.map(([path, text]) => writeFile(path, text, { mode: 0o600 })));
}

interface Identity {
  readonly certificate: string;
  readonly key: string;
}

interface Authority extends Identity {
  issue(subject: SubjectName, names?: readonly SubjectAltName[]): Promise<Identity>;
}

const serial = (): Uint8Array => randomBytes(16);
const pem = (der: Uint8Array): string => encodePem('CERTIFICATE', der);

async function createAuthority(): Promise<Authority> {
  const { publicKey, privateKey } = await generateKeyPair('ec-p256');
  const validity = validityFrom(new Date(), TTL);
  const subject = { commonName: 'mesh test cluster' };
  const root = { subject, names: [], publicKey, serial: serial(), use: { type: 'ca' }, ...validity } as const;
  const certificate = pem(await signRoot(root, privateKey));
  const details = readDetails(new X509Certificate(certificate));
  if (!details.ok) throw new Error('the certificate of the test cluster cannot be read back');
  const issuer: IssuerKey = { subjectDer: details.value.subjectDer, keyId: details.value.subjectKeyId, privateKey };
  return {
    certificate,
    key: privateKeyPem(privateKey).reveal(),
    issue: (who, names = []) => issueIdentity(issuer, who, names),
  };
}

async function issueIdentity(issuer: IssuerKey, subject: SubjectName, names: readonly SubjectAltName[]): Promise<Identity> {
  const { publicKey, privateKey } = await generateKeyPair('ec-p256');
  const use = { type: 'tls', server: names.length > 0, client: names.length === 0 } as const;
  const template = { subject, names, publicKey, serial: serial(), use, ...validityFrom(new Date(), TTL) };
  return { certificate: pem(await signCertificate(template, issuer)), key: privateKeyPem(privateKey).reveal() };
}

/** A kubeconfig with everything in it, as JSON, which is YAML too. */
function kubeconfig(server: string, authority: string, user: string, identity: Identity): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'mesh-test',
    clusters: [{ name: 'mesh-test', cluster: { server, 'certificate-authority-data': base64(authority) } }],
    users: [
      {
        name: user,
        user: { 'client-certificate-data': base64(identity.certificate), 'client-key-data': base64(identity.key) },
      },
    ],
    contexts: [{ name: 'mesh-test', context: { cluster: 'mesh-test', user } }],
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
