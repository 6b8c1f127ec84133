import { quote } from '../kubelet/container-script.ts';

/** Addresses that a sidecar client may call in every step, as long as it carries a good token. */
const HOSTS = ['httpbin.foo:8000', 'other.foo:8000', 'httpbin.bar:1234', 'httpbin.legacy:8000'];
/** Paces a client without a pause of its own: the connection is kept open and in use. */
const DELAY = '0.1';
const MANY = 1_000_000;
const MAX_SECONDS = 10;

/**
 * The shell program of the background clients: one per host that keeps its connection, and one that opens a fresh connection for
 * every call. Each call gives a line `STATUS CONNECTION URL` on standard error, which curl does not buffer. It ends when its
 * standard input does, so that nothing is left behind however its starter ends.
 */
export function backgroundScript(token: string): string {
  const curl = (connection: string): string =>
    `curl -s --max-time ${MAX_SECONDS} -H ${quote(`Authorization: Bearer ${token}`)} -o /dev/null -w '%{stderr}%{http_code} ${connection} %{url_effective}\\n'`;
  const kept = HOSTS.map((host) => `${curl('kept')} 'http://${host}/delay/${DELAY}?call=[1-${MANY}]' &\nclients="$clients $!"`);
  return `clients=
${kept.join('\n')}
while :; do
  for host in ${HOSTS.join(' ')}; do ${curl('fresh')} "http://$host/delay/${DELAY}"; done
done &
clients="$clients $!"
while read -r line; do :; done
kill $clients
wait
`;
}
