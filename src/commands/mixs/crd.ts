import { meshCommand } from '../../flags/command.ts';
import { flagTable } from '../../flags/table.ts';
import { CRD_PARTS } from '../../mixs/flags.ts';

export default meshCommand({
  id: ['mixs', 'crd'],
  summary: 'list the CustomResourceDefinitions of what mixs reads: of all kinds, of adapters, or of instances',
  examples: ['all', 'adapter', 'instance'],
  flags: flagTable({}),
  args: [{ name: 'KINDS', summary: 'whose definitions are listed', required: true, options: CRD_PARTS }],
  run: async () => (await import('../../mixs/crd.ts')).runCrd,
});
