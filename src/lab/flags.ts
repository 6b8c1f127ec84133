import { flagTable } from '../flags/table.ts';

/** The flag of every lab command: where the lab keeps its state. */
export const labFlags = flagTable({
  dir: {
    type: 'string',
    env: 'MESH_LAB_DIR',
    default: '',
    summary: "directory of the lab's state; when unset mesh/lab below the user's state directory",
  },
});

const namespaceFlags = flagTable({
  namespace: { type: 'string', char: 'n', default: '', summary: 'namespace of the pod; when unset "default"' },
});

const containerFlags = flagTable({
  container: {
    type: 'string',
    char: 'c',
    default: '',
    summary: 'container of the pod; when unset the first one that is not a sidecar',
  },
});

const imageMapFlags = flagTable({
  image: {
    type: 'stringArray',
    default: [],
    summary: 'command that stands for an image, as NAME=CMD; repeatable',
  },
});

const outputFlags = flagTable({
  output: { type: 'string', char: 'o', default: 'table', options: ['table', 'json'], summary: 'form of the output' },
});

/** The flags of `lab up`. */
export const upFlags = flagTable({
  ...labFlags,
  ...imageMapFlags,
  filename: {
    type: 'stringArray',
    char: 'f',
    default: [],
    summary: 'file or directory of manifests to start with, or - for standard input; repeatable',
  },
});

/** The flags of `lab apply`. */
export const applyFlags = flagTable({
  ...labFlags,
  filename: {
    type: 'stringArray',
    char: 'f',
    default: [],
    summary: 'file or directory of manifests, or - for standard input; repeatable',
  },
  namespace: {
    type: 'string',
    char: 'n',
    default: '',
    summary: 'namespace of objects that name none themselves; when unset "default"',
  },
});

/** The flags of `lab exec`. */
export const execFlags = flagTable({ ...labFlags, ...namespaceFlags, ...containerFlags });

/** The flags of `lab status`. */
export const statusFlags = flagTable({ ...labFlags, ...outputFlags });

/** The flags of `lab logs`. */
export const logsFlags = flagTable({
  ...labFlags,
  ...namespaceFlags,
  ...containerFlags,
  follow: { type: 'bool', char: 'f', default: false, summary: 'keep printing what is logged' },
});

/** The flags of `lab env`. */
export const envFlags = flagTable({ ...labFlags });

/** The flags of `lab down`. */
export const downFlags = flagTable({ ...labFlags });

/** The flags of `lab demo`. */
export const demoFlags = flagTable({
  ...labFlags,
  ...outputFlags,
  keep: { type: 'bool', default: false, summary: 'leave the mesh up' },
});

/** The flags of `lab daemon`, the process behind a running lab. */
export const daemonFlags = flagTable({ ...labFlags, ...imageMapFlags });

/** The flags of `lab image`, which runs one of the built-in images. */
export const imageFlags = flagTable({
  port: { type: 'uint16', default: 8080, summary: 'port to listen on' },
});
