import type { Writable } from 'node:stream';

/** Back to the start of the line, and erase it (ECMA-48). */
const CLEAR_LINE = '\r\u001b[2K';

/** Lines that stay, and on a terminal one below them that says what is going on; elsewhere that is a line like any other. */
export class LiveOutput {
  readonly isTerminal: boolean;
  readonly #output: Writable;

  constructor(output: Writable) {
    this.#output = output;
    this.isTerminal = 'isTTY' in output && output.isTTY === true;
  }

  line(text: string): void {
    this.#output.write(`${this.isTerminal ? CLEAR_LINE : ''}${text}\n`);
  }

  status(text: string): void {
    this.#output.write(this.isTerminal ? `${CLEAR_LINE}${text}` : `${text}\n`);
  }
}
