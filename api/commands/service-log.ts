import type { Writable } from 'node:stream';
import pino, { type Logger } from 'pino';

const STDERR = 2;

/** Log of the service on standard error: JSON lines, or readable ones on a terminal. `stream` takes the lines instead. */
export async function openServiceLog(level: string, isTerminal: boolean, stream?: Writable): Promise<Logger> {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (!isTerminal) return pino(options, stream ?? pino.destination(STDERR));
  // Loaded here: most services run without a terminal.
  const { default: pretty } = await import('pino-pretty');
  const shape = { translateTime: 'SYS:HH:MM:ss', singleLine: true, colorize: stream === undefined };
  return pino(options, pretty({ ...shape, destination: stream ?? STDERR, sync: true }));
}
