import { quote } from '../kubelet/container-script.ts';

/** Addresses that a sidecar client may call in every step, as long as it carries a good token. */
const HOSTS = ['httpbin.foo:8000', 'other.foo:8000', 'httpbin.bar:1234', 'httpbin.legacy:8000'];
/** Paces a client without a pause of its own: the connection is kept open and in use. */
const DELAY = '0.1';
const MANY = 1_000_000;
const MAX_SECONDS = 10;

/**
 * The shell program of the background clients: one per host that keeps its connection, and one that opens a fresh connection for
 * every call. Each call gives a line `STATUS CONNECTION URL`. The program must lead a process group: it ends all of it when
 * its standard input ends, so that nothing is left behind however its starter ends.
 */
export function backgroundScript(token: string): string {
  // curl buffers its standard output, and writes a line to standard error in pieces: a pipe of its own keeps lines whole.
  return `calls() {
  connection=$1; shift
  curl -s --max-time ${MAX_SECONDS} -H ${quote(`Authorization: Bearer ${token}`)} -o /dev/null \\
    -w "%{stderr}%{http_code} $connection %{url_effective}\\n" "$@" 2>&1
}
whole_lines() { while read -r line; do echo "$line"; done; }
for host in ${HOSTS.join(' ')}; do
  calls kept "http://$host/delay/${DELAY}?call=[1-${MANY}]" | whole_lines &
done
while :; do
  for host in ${HOSTS.join(' ')}; do calls fresh "http://$host/delay/${DELAY}"; done
done | whole_lines &
while read -r line; do :; done
trap : TERM
kill 0
wait
`;
}
