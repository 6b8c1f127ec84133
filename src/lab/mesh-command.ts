/** How the lab runs `mesh` itself, as others do who start it. */
export { type MeshInstallation, meshArgv, meshInstallation, NODE_OPTIONS } from '../io/mesh-command.ts';
