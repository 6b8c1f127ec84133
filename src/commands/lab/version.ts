import { versionCommand } from '../../flags/version-command.ts';

export default versionCommand('lab');
