import type { Host } from '../io/host.ts';
import type { LogFields, Logger } from '../io/log/logger.ts';
export function lineLogger(host: Host): Logger {
  const line = (level: string) => (message: string, fields?: LogFields) => void host.stdout.write(`${JSON.stringify({ level, message, ...fields })}\n`);
  return { debug() {}, info: line('info'), warn: line('warn'), error: line('error') };
}
