import type { AttributeMap } from './attribute-map.ts';

/** Adds what follows from a request's target (RFC 9112, section 3.2): path, parameters, and a key of an API that stands in them. */
export function addPath(attributes: AttributeMap, path: string, headers: Readonly<Record<string, string>>): void {
  const [urlPath = '', query = ''] = splitOnce(path.replace(/#.*$/, ''), '?');
  attributes.text('request.path', path);
  attributes.text('request.url_path', urlPath);
  const parameters = new Map([...new URLSearchParams(query)].reverse());
  attributes.map('request.query_params', parameters);
  attributes.text('request.api_key', headers['x-api-key'] ?? parameters.get('key') ?? parameters.get('api_key'));
}

/** `grpc` where the content says so, else `http`. */
export function httpProtocol(contentType: string | undefined): 'grpc' | 'http' {
  return contentType?.startsWith('application/grpc') === true ? 'grpc' : 'http';
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
