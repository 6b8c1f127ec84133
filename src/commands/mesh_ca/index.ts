import { meshCommand } from '../../flags/command.ts';
import { caFlags } from '../../mesh_ca/flags.ts';

export default meshCommand({
  id: ['mesh_ca'],
  summary: 'certificate authority that issues workload certificates',
  examples: [
    '--self-signed-ca --orch-config ./manifests',
    '--orch-config ./manifests --signing-cert ca-cert.pem --signing-key ca-key.pem --root-cert root-cert.pem',
  ],
  flags: caFlags,
  run: async () => (await import('../../mesh_ca/main.ts')).run,
});
