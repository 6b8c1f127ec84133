/** What the ASN.1 library reads in a signing request: slow, and not ours, so that ours can be held against it. */
import { CertificationRequest } from '@peculiar/asn1-csr';
import { AsnConvert } from '@peculiar/asn1-schema';
import { BasicConstraints, Extensions, SubjectAlternativeName } from '@peculiar/asn1-x509';
import { altNamesOf } from '../../src/io/x509/certificate-details.ts';
import type { Csr } from '../../src/io/x509/csr-parse.ts';
import { OID } from '../../src/io/x509/oids.ts';

/** Throws for what the library cannot read. The signature is not looked at. */
export function libraryCsr(der: Uint8Array): Omit<Csr, 'publicKey'> & { readonly spki: string } {
  const { certificationRequestInfo: info } = AsnConvert.parse(der, CertificationRequest);
  const extensions = info.attributes
    .filter((attribute) => attribute.type === OID.extensionRequest)
    .flatMap((attribute) => attribute.values)
    .flatMap((value) => [...AsnConvert.parse(value, Extensions)]);
  const of = (oid: string) => extensions.filter(({ extnID }) => extnID === oid).map(({ extnValue }) => extnValue.buffer);
  const names = of(OID.subjectAltName).flatMap((value) => [...AsnConvert.parse(value, SubjectAlternativeName)]);
  const { known, hasOther } = altNamesOf(names);
  const commonNames = [...info.subject]
    .flatMap((relative) => [...relative])
    .filter((attribute) => attribute.type === OID.commonName)
    .map((attribute) => attribute.value.toString());
  return {
    names: known,
    hasOtherNames: hasOther,
    commonNames,
    asksForCa: of(OID.basicConstraints).some((value) => AsnConvert.parse(value, BasicConstraints).cA),
    spki: Buffer.from(AsnConvert.serialize(info.subjectPKInfo)).toString('hex'),
  };
}
