import { versionCommand } from '../../flags/version-command.ts';
import { injectorVersionFlags } from '../../sidecar-injector/flags.ts';

export default versionCommand('sidecar-injector', injectorVersionFlags);
