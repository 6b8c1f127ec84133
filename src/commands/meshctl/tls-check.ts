import { meshCommand } from '../../flags/command.ts';
import { tlsCheckFlags } from '../../meshctl/tls-check/flags.ts';

export default meshCommand({
  id: ['meshctl', 'tls-check'],
  summary: 'print what ports take, mutual TLS or plaintext, what callers send, and whether the two agree',
  description:
    'HTTP stands for plaintext. Without a pod the callers are pods with a sidecar; with one, it is the caller. ' +
    'CONFLICT: the calls fail, or go unprotected where a policy asks for mutual TLS; the reason stands below the table.',
  examples: ['httpbin.foo', 'sleep-6d9f5bcb4d-x2vnk.legacy', 'sleep.legacy httpbin.foo', '-f policy.yaml -n foo'],
  flags: tlsCheckFlags,
  args: [
    { name: 'POD|SERVICE', summary: 'calling pod or workload, or service that is called, with its namespace or that of -n' },
    { name: 'SERVICE', summary: 'service that the pod calls; all when none is given' },
  ],
  run: async () => (await import('../../meshctl/main.ts')).runTlsCheck,
});
