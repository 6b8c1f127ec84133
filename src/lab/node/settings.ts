import { MeshError } from '../../lib/errors.ts';
import { parseImageMapping } from '../kubelet/image.ts';

/** What makes a lab the node of a real cluster. */
export interface NodeSettings {
  readonly kubeconfig: string;
  /** Name of the Node object. */
  readonly name: string;
  /** Labels of the Node object that the user wants, such as its zone. */
  readonly labels: Readonly<Record<string, string>>;
  /** Where the API server's calls to webhooks arrive; empty: nowhere. */
  readonly egressSocket: string;
  /** Image -> command line. */
  readonly images: Readonly<Record<string, string>>;
}

export interface NodeFlags {
  readonly orchconfig: string;
  readonly 'node-name': string;
  readonly 'node-label': readonly string[];
  readonly 'egress-socket': string;
  readonly image: readonly string[];
}

const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** The kernel's limit of a Unix socket's path, with its final zero (unix(7)). */
const SOCKET_PATH_LIMIT = 108;

/** Undefined: the lab is a cluster of its own. `absolute` makes a path absolute. Throws `usage` that names the flag. */
export function nodeSettings(flags: NodeFlags, absolute: (path: string) => string): NodeSettings | undefined {
  if (flags.orchconfig === '') {
    for (const name of ['egress-socket', 'node-label'] as const)
      if (flags[name].length > 0)
        throw new MeshError('usage', `--${name} is of a node of a cluster: name the cluster by --orchconfig`);
    return undefined;
  }
  const name = flags['node-name'];
  if (!NAME.test(name)) throw new MeshError('usage', `--node-name: "${name}" is not the name of a node, such as lab`);
  const egressSocket = flags['egress-socket'] === '' ? '' : absolute(flags['egress-socket']);
  if (Buffer.byteLength(egressSocket) >= SOCKET_PATH_LIMIT)
    throw new MeshError(
      'usage',
      `--egress-socket: ${egressSocket} is longer than the ${SOCKET_PATH_LIMIT - 1} bytes that a socket's path may have`,
    );
  return {
    kubeconfig: absolute(flags.orchconfig),
    name,
    labels: Object.fromEntries(flags['node-label'].map(parseLabel)),
    egressSocket,
    images: Object.fromEntries(flags.image.map(parseImageMapping)),
  };
}

/** The command line that gives these settings again. */
export function nodeArguments({ kubeconfig, name, labels, egressSocket, images }: NodeSettings): readonly string[] {
  const pairs = (flag: string, map: Readonly<Record<string, string>>): string[] =>
    Object.entries(map).flatMap(([key, value]) => [`--${flag}`, `${key}=${value}`]);
  return [
    '--orchconfig',
    kubeconfig,
    '--node-name',
    name,
    ...pairs('node-label', labels),
    ...(egressSocket === '' ? [] : ['--egress-socket', egressSocket]),
    ...pairs('image', images),
  ];
}

function parseLabel(text: string): readonly [key: string, value: string] {
  const [, key, value] = /^([^=\s]+)=([^=\s]*)$/.exec(text) ?? [];
  if (key === undefined || value === undefined)
    throw new MeshError('usage', `--node-label "${text}" is not KEY=VALUE, such as topology.kubernetes.io/zone=a`);
  return [key, value];
}
