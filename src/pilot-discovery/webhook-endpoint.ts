import { isAbsolute } from 'node:path';
import { MeshError } from '../lib/errors.ts';

/** Where a webhook listens. */
export type WebhookEndpoint =
  | { readonly type: 'http'; readonly host: string; readonly port: number; readonly path: string }
  | { readonly type: 'unix'; readonly socketPath: string };

const FORMS = 'is not of the form http://host[:port][/path] or unix:///absolute/path/of/a/socket';

/** Reads `--webhookEndpoint`; undefined for an empty one. Throws MeshError `usage`. */
export function parseWebhookEndpoint(text: string): WebhookEndpoint | undefined {
  if (text === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.search !== '' || url.hash !== '') throw wrong(text);
  switch (url.protocol) {
    case 'http:':
      return { type: 'http', host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 80), path: url.pathname };
    case 'unix:': {
      const socketPath = unescaped(url.pathname) ?? '';
      if (url.host !== '' || !isAbsolute(socketPath) || socketPath.endsWith('/')) throw wrong(text);
      return { type: 'unix', socketPath };
    }
    default:
      throw wrong(text);
  }
}

function unescaped(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

function wrong(text: string): MeshError {
  return new MeshError('usage', `flag --webhookEndpoint: ${JSON.stringify(text)} ${FORMS}`);
}
