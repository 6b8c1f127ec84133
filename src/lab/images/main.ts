import type { Invocation } from '../../flags/table.ts';
import type { Host } from '../../io/host.ts';
import { createHttpServer } from '../../io/http/server.ts';
import type { HttpHandler } from '../../io/http/types.ts';
import { MeshError } from '../../lib/errors.ts';
import { suggestion } from '../../lib/nearest.ts';
import type { imageFlags } from '../flags.ts';
import { listenEcho } from './echo.ts';
import { httpbin } from './httpbin.ts';
import { tokenIssuer } from './jwks.ts';
import { generateKeys, loadKeys } from './signing-keys.ts';
import { mintToken, requireVariant } from './token.ts';

type ImageInvocation = Invocation<typeof imageFlags>;
type FlagName = keyof typeof imageFlags;

interface Image {
  /** The flags that it reads; any other one is refused. */
  readonly flags: readonly FlagName[];
  run(invocation: ImageInvocation, host: Host): Promise<number>;
}

const IMAGES: Readonly<Record<string, Image>> = {
  httpbin: { flags: ['host', 'port', 'tcp-port'], run: runHttpbin },
  jwks: { flags: ['host', 'port', 'issuer', 'keys'], run: runJwks },
  'jwks mint': { flags: ['issuer', 'audience', 'subject', 'expires-in', 'variant', 'keys'], run: runMint },
};

/** Running requests may finish for that long once the image is told to stop. */
const GRACE_MS = 5_000;

/**
 * Runs a built-in image in this process until the host's signal: `httpbin`, `jwks`; `jwks mint` prints a token and ends.
 * @throws MeshError `usage` for an unknown image or a flag that is not of the image.
 */
export async function runImage(invocation: ImageInvocation, host: Host): Promise<number> {
  const name = invocation.args.join(' ');
  const image = Object.hasOwn(IMAGES, name) ? IMAGES[name] : undefined;
  if (image === undefined) {
    const known = Object.keys(IMAGES);
    throw new MeshError('usage', `"${name}" is not a built-in image; there are ${known.join(', ')}${suggestion(name, known)}`);
  }
  const foreign = [...invocation.given].find((flag) => !image.flags.includes(flag));
  if (foreign !== undefined) throw new MeshError('usage', `--${foreign} is no flag of the image ${name}`);
  return image.run(invocation, host);
}

async function runHttpbin({ options, given }: ImageInvocation, host: Host): Promise<number> {
  const onlyTcp = given.has('tcp-port') && !given.has('port');
  const ports = readPorts('--port', given.has('port') ? options.port : onlyTcp ? [] : ['8000', '1234']);
  const tcpPorts = readPorts('--tcp-port', options['tcp-port']);
  return serve({ handle: httpbin, address: options.host, ports, tcpPorts }, host);
}

async function runJwks({ options, given }: ImageInvocation, host: Host): Promise<number> {
  const keys = options.keys === '' ? generateKeys() : await loadKeys(options.keys);
  const handle = tokenIssuer({ keys, issuer: options.issuer, now: host.now });
  return serve(
    { handle, address: options.host, ports: readPorts('--port', given.has('port') ? options.port : ['8000']), tcpPorts: [] },
    host,
  );
}

async function runMint({ options }: ImageInvocation, host: Host): Promise<number> {
  if (options.keys === '')
    throw new MeshError('usage', '--keys must name the file of keys that the jwks server was started with');
  const request = {
    issuer: options.issuer,
    subject: options.subject,
    audiences: options.audience,
    expiresIn: options['expires-in'],
    variant: requireVariant(options.variant),
  };
  host.stdout.write(`${mintToken(await loadKeys(options.keys), request, host.now())}\n`);
  return 0;
}

interface Service {
  readonly handle: HttpHandler;
  readonly address: string;
  readonly ports: readonly number[];
  readonly tcpPorts: readonly number[];
}

async function serve({ handle, address, ports, tcpPorts }: Service, host: Host): Promise<number> {
  const closers: (() => Promise<void>)[] = [];
  try {
    for (const port of ports) {
      const server = createHttpServer({ handle });
      await server.listen({ host: address, port });
      closers.push(() => server.close(GRACE_MS));
      host.stdout.write(`listening on port ${server.port} (http)\n`);
    }
    for (const port of tcpPorts) {
      const server = await listenEcho(address, port);
      closers.push(() => server.close());
      host.stdout.write(`listening on port ${server.port} (tcp)\n`);
    }
    await aborted(host.signal);
    return 0;
  } finally {
    await Promise.all(closers.map((close) => close()));
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function readPorts(flag: string, texts: readonly string[]): number[] {
  return texts.map((text) => {
    const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
    if (port >= 0 && port <= 65_535) return port;
    throw new MeshError('usage', `${flag}: "${text}" is not a port (0 to 65535)`);
  });
}
