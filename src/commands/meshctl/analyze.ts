import { meshCommand } from '../../flags/command.ts';
import { analyzeFlags } from '../../meshctl/analyze/flags.ts';

export default meshCommand({
  id: ['meshctl', 'analyze'],
  summary: 'find what is wrong in a mesh, or would be if files were applied',
  description:
    'Each finding has a code, a severity, the object and what to do; the codes are explained in docs/reference/meshctl.md. ' +
    'Files are looked at as if they were applied to the mesh that --orchconfig names; without one they are looked at alone. ' +
    'Exit code 1 when there are errors, 0 otherwise: warnings do not change it.',
  examples: ['--orchconfig ./manifests', '-f policy.yaml -n foo', '-f manifests/ -o json', '--fetch-jwks -n foo'],
  flags: analyzeFlags,
  run: async () => (await import('../../meshctl/main.ts')).runAnalyze,
});
