import type { LogFile } from './log-file.ts';

/** The calls that Node's file stream makes of its option `fs` (https://nodejs.org/api/fs.html#fscreatewritestreampath-options). */
export interface StreamFiles {
  open(path: string, flags: string, mode: number, done: (error: null, fd: number) => void): void;
  write(
    fd: number,
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number | undefined,
    done: (error: null, written: number, buffer: Uint8Array) => void,
  ): void;
  close(fd: number, done: (error: null) => void): void;
}

/** Those calls on files that never fail and are written at once. `onWrite` is told of the bytes that the stream gives away. */
export function streamFiles(openFile: (path: string) => LogFile, onWrite: (bytes: number) => void): StreamFiles {
  const open = new Map<number, LogFile>();
  let last = 0;
  return {
    open: (path, _flags, _mode, done) => {
      open.set(++last, openFile(path));
      done(null, last);
    },
    write: (fd, buffer, offset, length, _position, done) => {
      onWrite(length);
      open.get(fd)?.write(buffer.subarray(offset, offset + length));
      done(null, length, buffer);
    },
    close: (fd, done) => {
      open.get(fd)?.close();
      open.delete(fd);
      done(null);
    },
  };
}
