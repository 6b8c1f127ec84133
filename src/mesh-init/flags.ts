import { flagTable } from '../flags/table.ts';

/** The flags of `mesh-init`. */
export const initFlags = flagTable({
  'outbound-port': {
    type: 'uint16',
    char: 'p',
    default: 15001,
    summary: 'port of the sidecar that outbound TCP traffic is redirected to',
  },
  'inbound-capture-port': {
    type: 'uint16',
    char: 'z',
    default: 15006,
    summary: 'port of the sidecar that inbound TCP traffic is redirected to',
  },
  'proxy-uid': {
    type: 'stringSlice',
    char: 'u',
    default: ['1337'],
    summary: 'user ids whose traffic is not redirected',
  },
  'proxy-gid': {
    type: 'stringSlice',
    char: 'g',
    default: ['1337'],
    summary: 'group ids whose traffic is not redirected',
  },
  'interception-mode': {
    type: 'string',
    char: 'm',
    default: 'REDIRECT',
    options: ['REDIRECT', 'TPROXY'],
    refusedValues: { TPROXY: 'transparent interception is not supported by this build yet; use REDIRECT' },
    summary: 'how inbound traffic is redirected',
  },
  'inbound-ports': {
    type: 'stringSlice',
    char: 'b',
    default: ['*'],
    summary: 'inbound ports that are redirected; * means all, empty means none',
  },
  'exclude-inbound-ports': {
    type: 'stringSlice',
    char: 'd',
    default: ['15020', '15090'],
    summary: 'inbound ports that are not redirected; only with -b *',
  },
  'include-cidrs': {
    type: 'stringSlice',
    char: 'i',
    default: ['*'],
    summary: 'CIDR ranges whose outbound traffic is redirected; * means all, empty means none',
  },
  'exclude-cidrs': {
    type: 'stringSlice',
    char: 'x',
    default: [],
    summary: 'CIDR ranges whose outbound traffic is not redirected; only with -i *',
  },
  'dry-run': { type: 'bool', default: false, summary: 'print the rules and change nothing' },
  clean: { type: 'bool', default: false, summary: 'remove the redirection and exit' },
});

export type InitFlags = typeof initFlags;
