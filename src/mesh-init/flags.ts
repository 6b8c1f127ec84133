import { flagTable } from '../flags/table.ts';

/** The flags of `mesh-init`. */
export const initFlags = flagTable({
  'proxy-port': {
    type: 'uint16',
    char: 'p',
    default: 15001,
    summary: 'port of the sidecar that outbound TCP connections are redirected to',
  },
  'inbound-capture-port': {
    type: 'uint16',
    char: 'z',
    default: 15006,
    summary: 'port of the sidecar that inbound TCP connections are redirected to',
  },
  'proxy-uid': { type: 'uint', char: 'u', default: 1337, summary: 'user id of the proxy, whose connections are left alone' },
  'proxy-gid': { type: 'uint', char: 'g', default: 1337, summary: 'group id of the proxy, whose connections are left alone' },
  'proxy-mark': {
    type: 'uint',
    default: 0,
    max: 0xffff_ffff,
    summary: "socket mark that tells the proxy's connections, instead of user and group id; 0 means none",
  },
  mode: {
    type: 'string',
    char: 'm',
    default: 'REDIRECT',
    options: ['REDIRECT', 'TPROXY'],
    refusedValues: { TPROXY: 'it needs policy routing and a transparent listener, which are not in this build; use REDIRECT' },
    summary: 'how inbound connections are intercepted',
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
    default: [],
    summary: "inbound ports that are not redirected, besides the sidecar's own",
  },
  'include-outbound-ranges': {
    type: 'stringSlice',
    char: 'i',
    default: ['*'],
    summary: 'address ranges whose outbound connections are redirected; * means all, empty means none',
  },
  'exclude-outbound-ranges': {
    type: 'stringSlice',
    char: 'x',
    default: [],
    summary: 'address ranges whose outbound connections are not redirected',
  },
  'include-outbound-ports': {
    type: 'stringSlice',
    char: 'q',
    default: [],
    summary: 'outbound ports that are redirected whatever the address',
  },
  'exclude-outbound-ports': {
    type: 'stringSlice',
    char: 'o',
    default: [],
    summary: 'outbound ports that are not redirected',
  },
  'dry-run': { type: 'bool', default: false, summary: 'print what would be done and change nothing' },
  clean: { type: 'bool', default: false, summary: 'remove the redirection' },
});

export type InitFlags = typeof initFlags;
