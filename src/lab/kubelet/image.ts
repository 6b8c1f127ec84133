import { MeshError } from '../../lib/errors.ts';
import type { ContainerSpec } from './pod-spec.ts';

/** What a container runs in the lab, which has no images. */
export type ImageProgram =
  /** A program of the host, or a shell command line that stands for the image. */
  | { readonly type: 'host'; readonly argv: readonly string[] }
  /** A command of `mesh` itself. */
  | { readonly type: 'mesh'; readonly args: readonly string[] };

export interface ImageRules {
  /** Image name -> command line, from `--image NAME=CMD`. */
  readonly mapped: ReadonlyMap<string, string>;
  /** Whether the host has a program of that name or path. */
  readonly hostHas: (program: string) => boolean;
  /** Command lines of back ends that this machine has, by the last part of the image's name. */
  readonly backEnds: ReadonlyMap<string, readonly string[]>;
}

const SERVERS = ['httpbin', 'jwks'];

/**
 * Decides what runs for a container; `command` and `args` are expanded already. `--image` outranks everything; our own
 * images are known by name; any other needs a `command`, which is run from the host. Throws `not_found` when there is
 * nothing to run.
 */
export function imageProgram(
  container: Pick<ContainerSpec, 'image' | 'command' | 'args' | 'ports'>,
  rules: ImageRules,
): ImageProgram {
  const { image, command, args } = container;
  const repository = repositoryOf(image);
  const name = repository.slice(repository.lastIndexOf('/') + 1);
  const mapped = rules.mapped.get(image) ?? rules.mapped.get(repository) ?? rules.mapped.get(name);
  if (mapped !== undefined) {
    return { type: 'host', argv: ['/bin/sh', '-c', `exec ${mapped} "$@"`, name, ...(command === undefined ? args : [])] };
  }
  if (isNamed(repository, 'mesh/proxy')) return { type: 'mesh', args: ['pilot-agent', ...args] };
  if (isNamed(repository, 'mesh/proxy-init')) return { type: 'mesh', args: ['mesh-init', ...args] };
  const [program] = command ?? [];
  if (isNamed(repository, 'mesh/mesh') && (program === undefined || program === 'mesh'))
    return { type: 'mesh', args: [...(command ?? []).slice(1), ...args] };
  // A well-known image's command names a program inside the image; it is ours that stands for it.
  if (SERVERS.includes(name) && (program === undefined || !rules.hostHas(program))) {
    return { type: 'mesh', args: ['lab', 'image', name, ...serverArguments(container)] };
  }
  if (command !== undefined && program !== undefined) return { type: 'host', argv: [...command, ...args] };
  const backEnd = rules.backEnds.get(name);
  if (backEnd !== undefined) return { type: 'host', argv: [...backEnd, ...args] };
  if (name === 'sleep') return { type: 'host', argv: ['sleep', ...(args.length > 0 ? args : ['infinity'])] };
  throw new MeshError(
    'not_found',
    `the lab has no image "${image}": give the container a command that this machine can run, or name one by --image ${name || 'NAME'}=CMD`,
  );
}

/** All of the container's ports unless its arguments name some; arguments that belong to another program are left out. */
function serverArguments({ command, args, ports }: Pick<ContainerSpec, 'command' | 'args' | 'ports'>): readonly string[] {
  const own = command === undefined ? args : [];
  const tcp = ports.filter(({ protocol }) => protocol === 'TCP').flatMap(({ port }) => ['--port', `${port}`]);
  return own.some((argument) => /^--port(=|$)/.test(argument)) ? own : [...tcp, ...own];
}

/** The image's name without tag and digest: `docker.io/foo/httpbin:1@sha256:…` is `docker.io/foo/httpbin`. */
export function repositoryOf(image: string): string {
  const [named = ''] = image.split('@');
  const slash = named.lastIndexOf('/');
  const colon = named.indexOf(':', slash + 1);
  return colon < 0 ? named : named.slice(0, colon);
}

function isNamed(repository: string, name: string): boolean {
  return repository === name || repository.endsWith(`/${name}`);
}

/** Reads `NAME=CMD`. Throws `usage`. */
export function parseImageMapping(text: string): readonly [name: string, command: string] {
  const equals = text.indexOf('=');
  const name = text.slice(0, equals).trim();
  const command = text.slice(equals + 1).trim();
  if (equals < 1 || name === '' || command === '') {
    throw new MeshError('usage', `--image "${text}" is not NAME=CMD, such as --image web="python3 -m http.server 80"`);
  }
  return [name, command];
}
