/** Begins of what follows a cluster's name; a label of a DNS name has no underscore. */
const GROUPS =
  'upstream_|membership_|lb_|assignment_|update_|warming_|outlier_detection|circuit_breakers|health_check|retry_|original_dst_|init_|bind_|max_|client_|server_';
/** Groups whose names could be DNS labels too: one statistic, or a group of one, must be all that follows. */
const SHORT_GROUPS = '(?:http[123]|ssl|tls|external|internal|canary|zone|default)\\.[^.]+(?:\\.[^.]+)?$|version$';

/**
 * How the proxy splits its statistics' names into labels. Envoy's own rules end a cluster's name at the first dot, which
 * names like `outbound|8000||httpbin.foo.svc.cluster.local` are full of. The first group is cut out, the second is the value.
 */
export const STATS_TAGS: readonly { readonly tag_name: string; readonly regex: string }[] = [
  { tag_name: 'cluster_name', regex: `^cluster\\.((.+?)\\.)(?=${GROUPS}|${SHORT_GROUPS})` },
  { tag_name: 'tcp_prefix', regex: '^tcp\\.((.*?)\\.)\\w+?$' },
  { tag_name: 'response_code', regex: '_rq(_(\\d{3}))$' },
  { tag_name: 'response_code_class', regex: '_rq(_(\\dxx))$' },
  {
    tag_name: 'http_conn_manager_listener_prefix',
    regex: '^listener(?=\\.).*?\\.http\\.(((?:[_.[:digit:]]*|[_\\[\\]aAbBcCdDeEfF[:digit:]]*))\\.)',
  },
  { tag_name: 'http_conn_manager_prefix', regex: '^http\\.(((?:outbound|inbound)_[^_]*_[0-9]+|[^.]+)\\.)' },
  { tag_name: 'listener_address', regex: '^listener\\.(((?:[_.[:digit:]]*|[_\\[\\]aAbBcCdDeEfF[:digit:]]*))\\.)' },
];
