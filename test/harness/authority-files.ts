/** The files of a plugged-in authority, made anew for every test and valid today. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { privateKeyPem } from '../../src/io/x509/key.ts';
import { encodePem } from '../../src/io/x509/pem.ts';
import { type CertificateTemplate, validityFrom } from '../../src/io/x509/template.ts';
import { seconds } from '../../src/lib/duration.ts';
import { DAY, makeIntermediate, makeRoot, type TestCa } from './certificates.ts';

export const pemOf = (...cas: readonly TestCa[]): string =>
  cas.map(({ certificate }) => encodePem('CERTIFICATE', certificate.raw)).join('');
export const keyPemOf = (ca: TestCa): string => privateKeyPem(ca.pair.privateKey).reveal();

/** A root, what it signed, and what that signed. */
export interface TestHierarchy {
  readonly root: TestCa;
  readonly middle: TestCa;
  readonly signing: TestCa;
}

export async function makeHierarchy(changes: Partial<CertificateTemplate> = {}): Promise<TestHierarchy> {
  const now = validityFrom(new Date(), seconds(365 * DAY));
  const root = await makeRoot('rsa-2048', now);
  const middle = await makeIntermediate(root, { ...now, subject: { commonName: 'middle' } });
  const signing = await makeIntermediate(middle, { ...now, subject: { commonName: 'signing' }, ...changes });
  return { root, middle, signing };
}

export class AuthorityDirectory {
  readonly dir = mkdtempSync(join(tmpdir(), 'mesh-authority-'));

  path(name: string): string {
    return join(this.dir, name);
  }

  write(name: string, text: string): void {
    writeFileSync(this.path(name), text);
  }

  writeAll({ root, middle, signing }: TestHierarchy): void {
    this.write('cert.pem', pemOf(signing));
    this.write('key.pem', keyPemOf(signing));
    this.write('chain.pem', pemOf(middle));
    this.write('root.pem', pemOf(root));
  }

  /** The flags that name the files. */
  get flags(): Readonly<Record<string, string>> {
    return {
      'signing-cert': this.path('cert.pem'),
      'signing-key': this.path('key.pem'),
      'cert-chain': this.path('chain.pem'),
      'root-cert': this.path('root.pem'),
    };
  }
}
