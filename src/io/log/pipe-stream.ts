import { Writable } from 'node:stream';
import { MeshError } from '../../lib/errors.ts';
import type { LossReport } from './log-file.ts';

/** Bytes that may wait for the reader of a standard stream. */
const MAX_QUEUED = 1024 * 1024;

/**
 * The log's way to a standard stream. Node keeps whatever the reader of a pipe or socket does not take, without an end when that reader
 * sleeps: here lines beyond the bound are lost, and counted.
 */
export function pipeStream(stream: Writable, report: LossReport): Writable {
  return new Writable({
    decodeStrings: false,
    write: (line: string | Buffer, _encoding, done) => {
      if (stream.writableLength + line.length > MAX_QUEUED) {
        report.lost(new MeshError('resource_exhausted', 'nobody reads it'));
      } else {
        stream.write(line);
        report.written();
      }
      done();
    },
  });
}
