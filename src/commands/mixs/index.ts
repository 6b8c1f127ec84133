import { meshCommand } from '../../flags/command.ts';
import { flagTable } from '../../flags/table.ts';

export default meshCommand({
  id: ['mixs'],
  summary: 'policy checks, quota and telemetry, between proxies and infrastructure back ends',
  examples: ['server --help', 'crd --help'],
  flags: flagTable({}),
  run: 'help',
});
