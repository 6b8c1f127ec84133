import { AccessLog } from '#gen/envoy/config/accesslog/v3/accesslog.ts';
import { FileAccessLog } from '#gen/envoy/extensions/access_loggers/file/v3/file.ts';
import { StderrAccessLog, StdoutAccessLog } from '#gen/envoy/extensions/access_loggers/stream/v3/stream.ts';
import type { Any } from '#gen/google/protobuf/any.ts';
import type { MeshConfig } from '../../model/mesh-config.ts';
import { pack } from '../resource.ts';

/**
 * The access log of the mesh configuration; none when it names no file. The standard streams have loggers of their own: opened as
 * files, they fail where they are sockets, as in many containers.
 */
export function accessLog(mesh: MeshConfig): AccessLog[] {
  if (mesh.accessLogFile === '') return [];
  const { name, typedConfig } = logger(mesh.accessLogFile);
  return [AccessLog.fromPartial({ name, configType: { $case: 'typedConfig', typedConfig } })];
}

function logger(path: string): { name: string; typedConfig: Any } {
  switch (path) {
    case '/dev/stdout':
      return {
        name: 'envoy.access_loggers.stdout',
        typedConfig: pack('envoy.extensions.access_loggers.stream.v3.StdoutAccessLog', StdoutAccessLog, StdoutAccessLog.create()),
      };
    case '/dev/stderr':
      return {
        name: 'envoy.access_loggers.stderr',
        typedConfig: pack('envoy.extensions.access_loggers.stream.v3.StderrAccessLog', StderrAccessLog, StderrAccessLog.create()),
      };
    default:
      return {
        name: 'envoy.access_loggers.file',
        typedConfig: pack(
          'envoy.extensions.access_loggers.file.v3.FileAccessLog',
          FileAccessLog,
          FileAccessLog.fromPartial({ path }),
        ),
      };
  }
}
