import ipaddr from 'ipaddr.js';

/** The normal form of a setting's text, or what it should have been. */
export type Checked = { readonly ok: true; readonly value: string } | { readonly ok: false; readonly expected: string };
export type Check = (text: string) => Checked;

const pass = (value: string): Checked => ({ ok: true, value });
const fail = (expected: string): Checked => ({ ok: false, expected });

/** Follows https://github.com/distribution/reference in what characters an image reference may have. */
export const imageReference: Check = (text) =>
  text.length <= 512 && /^[A-Za-z0-9][A-Za-z0-9._\-/:]*(@sha256:[0-9a-f]{64})?$/.test(text)
    ? pass(text)
    : fail('an image reference such as mesh/proxy:1.0');

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ ; empty: none. */
export const quantity: Check = (text) =>
  text === '' || /^\d+(\.\d+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/.test(text)
    ? pass(text)
    : fail('a quantity such as 100m or 128Mi');

export function oneOf(options: readonly string[]): Check {
  return (text) =>
    options.includes(text) ? pass(text) : fail(options.length === 1 ? `${options[0]}` : `one of ${options.join(', ')}`);
}

export function wholeNumber(min: number, max: number): Check {
  return (text) => (isWholeNumber(text, min, max) ? pass(text) : fail(`a whole number from ${min} to ${max}`));
}

/** Empty: none. */
export const firewallMark: Check = (text) =>
  text === '' || (/^[1-9]\d{0,9}$/.test(text) && Number(text) <= 0xffff_ffff)
    ? pass(text)
    : fail('a firewall mark, a whole number from 1 to 4294967295, or empty for none');

export const hostAndPort: Check = (text) => {
  const match = /^(?:[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[([0-9A-Fa-f:.]+)\]):(\d+)$/.exec(text);
  const valid =
    match !== null && isWholeNumber(match[3] ?? '', 1, 65535) && (match[2] === undefined || ipaddr.IPv6.isValid(match[2]));
  return valid ? pass(text) : fail('host:port, an IPv6 address in brackets');
};

/** What a proxy sends datagrams to without asking for its address first. */
export const ipAndPort: Check = (text) => {
  const host = hostAndPort(text).ok ? text.slice(0, text.lastIndexOf(':')) : '';
  return ipaddr.IPv4.isValidFourPartDecimal(host) || host.startsWith('[')
    ? pass(text)
    : fail('an IP address and port such as 10.0.0.5:8125 or [fd00::1]:8125');
};

export function orEmpty(check: Check): Check {
  return (text) => {
    const checked = text === '' ? pass(text) : check(text);
    return checked.ok ? checked : fail(`${checked.expected}, or empty for none`);
  };
}

/** IPv4 and IPv6 ranges, comma-separated; empty: none; `*` alone, where it may be: all. */
export function cidrList(star: 'or *' | 'only'): Check {
  return list(star, 'IP ranges such as 10.0.0.0/8,fd00::/8', isRange);
}

/** An address alone is the range of itself. Short and octal forms of IPv4, which programs read differently, are refused. */
function isRange(item: string): boolean {
  const [address = '', length, ...rest] = item.split('/');
  const isIPv4 = ipaddr.IPv4.isValidFourPartDecimal(address);
  if (rest.length > 0 || !(isIPv4 || (ipaddr.IPv6.isValid(address) && !address.includes('%')))) return false;
  return length === undefined || isWholeNumber(length, 0, isIPv4 ? 32 : 128);
}

/** TCP ports, comma-separated; empty: none; `*` alone, where it may be: all. */
export function portList(star: 'or *' | 'only'): Check {
  return list(star, 'ports such as 80,8080', (item) => isWholeNumber(item, 1, 65535));
}

function list(star: 'or *' | 'only', what: string, isItem: (item: string) => boolean): Check {
  const expected = `a comma-separated list of ${what}${star === 'or *' ? ', * for all' : ''}, or empty for none`;
  return (text) => {
    if (text === '' || (text === '*' && star === 'or *')) return pass(text);
    const items = text.split(',').map((item) => item.trim());
    return items.every(isItem) ? pass([...new Set(items)].join(',')) : fail(expected);
  };
}

function isWholeNumber(text: string, min: number, max: number): boolean {
  return /^(0|[1-9]\d{0,8})$/.test(text) && Number(text) >= min && Number(text) <= max;
}
