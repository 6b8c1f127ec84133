import { AccessLog } from '#gen/envoy/config/accesslog/v3/accesslog.ts';
import { FileAccessLog } from '#gen/envoy/extensions/access_loggers/file/v3/file.ts';
import type { MeshConfig } from '../../model/mesh-config.ts';
import { pack } from '../resource.ts';

/** The access log of the mesh configuration; none when it names no file. */
export function accessLog(mesh: MeshConfig): AccessLog[] {
  if (mesh.accessLogFile === '') return [];
  const config = FileAccessLog.fromPartial({ path: mesh.accessLogFile });
  const typedConfig = pack('envoy.extensions.access_loggers.file.v3.FileAccessLog', FileAccessLog, config);
  return [AccessLog.fromPartial({ name: 'envoy.access_loggers.file', configType: { $case: 'typedConfig', typedConfig } })];
}
