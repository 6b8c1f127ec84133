import { meshCommand } from '../../flags/command.ts';
import { uninstallFlags } from '../../meshctl/flags.ts';

export default meshCommand({
  id: ['meshctl', 'uninstall'],
  summary: 'delete the control plane of a cluster; policies and keys stay unless asked for',
  examples: ['--orchconfig ~/.kube/config', '--purge --yes'],
  flags: uninstallFlags,
  run: async () => (await import('../../meshctl/uninstall.ts')).runUninstall,
});
