/**
 * How the proxy splits its statistics' names into labels. Envoy's own rules end a cluster's name at the first dot, which
 * names like `outbound|8000||httpbin.foo.svc.cluster.local` are full of. The first group is cut out, the second is the value.
 */
export const STATS_TAGS: readonly { readonly tag_name: string; readonly regex: string }[] = [
  { tag_name: 'cluster_name', regex: '^cluster\\.(((?:in|out)bound\\|[0-9]*\\|[^|]*\\|(?:[^.]+\\.)*?[^.]+|[^.]+)\\.)(?=[a-z])' },
  { tag_name: 'tcp_prefix', regex: '^tcp\\.((.*?)\\.)\\w+?$' },
  { tag_name: 'response_code', regex: '_rq(_(\\d{3}))$' },
  { tag_name: 'response_code_class', regex: '_rq(_(\\dxx))$' },
  { tag_name: 'http_conn_manager_listener_prefix', regex: '^listener(?=\\.).*?\\.http\\.(((?:[_.[:digit:]]*|[_\\[\\]aAbBcCdDeEfF[:digit:]]*))\\.)' },
  { tag_name: 'http_conn_manager_prefix', regex: '^http\\.(((?:outbound|inbound)_[^_]*_[0-9]+|[^.]+)\\.)' },
  { tag_name: 'listener_address', regex: '^listener\\.(((?:[_.[:digit:]]*|[_\\[\\]aAbBcCdDeEfF[:digit:]]*))\\.)' },
];
