/** Names as Kubernetes validates them (RFC 1123 labels and subdomains). Each check returns what is wrong, or `undefined`. */

const LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;

export function checkDnsLabel(value: string): string | undefined {
  if (value.length <= 63 && LABEL.test(value)) return undefined;
  return `"${shorten(value)}" is not a DNS label (RFC 1123): at most 63 lower-case letters, digits and "-", the first and last no "-"`;
}

export function checkDnsSubdomain(value: string): string | undefined {
  if (value.length <= 253 && SUBDOMAIN.test(value)) return undefined;
  return `"${shorten(value)}" is not a DNS name (RFC 1123): at most 253 lower-case letters, digits, "-" and ".", each part beginning and ending with a letter or digit`;
}

export function checkLabelValue(value: string): string | undefined {
  if (value.length <= 63 && LABEL_VALUE.test(value)) return undefined;
  return `"${shorten(value)}" is not a label value: at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit`;
}

function shorten(value: string): string {
  return value.length > 80 ? `${value.slice(0, 80)}…` : value;
}
