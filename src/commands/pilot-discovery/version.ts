import { versionFlagsFor } from '../../flags/version.ts';
import { versionCommand } from '../../flags/version-command.ts';
import { DISCOVERY_SCOPES } from '../../pilot-discovery/flags.ts';

export default versionCommand('pilot-discovery', versionFlagsFor(DISCOVERY_SCOPES), DISCOVERY_SCOPES);
