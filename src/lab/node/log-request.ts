/** What the API server asks a kubelet for `kubectl logs`: `GET /containerLogs/NAMESPACE/POD/CONTAINER?OPTIONS` (PodLogOptions of the core API). */

export interface LogRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Goes on until the container ends. */
  readonly follow: boolean;
  /** Only so many lines from the end; absent: all. */
  readonly tailLines: number | undefined;
  /** Nothing after so many bytes; absent: no limit. */
  readonly limitBytes: number | undefined;
}

export type ParsedLogRequest =
  | { readonly ok: true; readonly value: LogRequest }
  | { readonly ok: false; readonly status: 400 | 404; readonly message: string };

/** Names of objects and containers: nothing that leads elsewhere as part of a path. */
const PATH = /^\/containerLogs\/([a-z0-9][-a-z0-9.]*)\/([a-z0-9][-a-z0-9.]*)\/([a-z0-9][-a-z0-9]*)$/;
/** Options that need the time or the stream of each line, which the lab's logs do not hold, or what was before the present log. */
const UNKNOWN_OPTIONS = ['previous', 'sinceSeconds', 'sinceTime', 'timestamps'] as const;

/** `target` is that of the request: path and query. */
export function parseLogRequest(target: string): ParsedLogRequest {
  const { pathname, searchParams: query } = new URL(target, 'https://node');
  const [, namespace, pod, container] = PATH.exec(pathname) ?? [];
  if (namespace === undefined || pod === undefined || container === undefined)
    return { ok: false, status: 404, message: 'the lab answers for logs of containers alone' };
  for (const option of UNKNOWN_OPTIONS) {
    const given = query.get(option) ?? '';
    if (given !== '' && given !== 'false' && given !== '0') return bad(`logs of a lab know no ${option}`);
  }
  const stream = query.get('stream') ?? 'All';
  if (stream !== 'All' && stream !== '') return bad('logs of a lab hold both streams together');
  const [tailLines, limitBytes] = [countOf(query, 'tailLines'), countOf(query, 'limitBytes')];
  if (tailLines === 'bad' || limitBytes === 'bad') return bad('tailLines and limitBytes must be numbers from 0 on');
  const follow = query.get('follow') === 'true';
  return { ok: true, value: { namespace, pod, container, follow, tailLines, limitBytes } };
}

function bad(message: string): ParsedLogRequest {
  return { ok: false, status: 400, message };
}

function countOf(query: URLSearchParams, option: string): number | undefined | 'bad' {
  const text = query.get(option) ?? '';
  if (text === '') return undefined;
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : 'bad';
}
