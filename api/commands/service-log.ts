import type { Writable } from 'node:stream';
import pino, { type Logger } from 'pino';
import { escapeInvisible } from '../../schemas/errors.ts';

const STDERR = 2;
/** In a line of JSON: what a terminal would obey, escaped already or not, but for the line's own end. */
const OBEYED = /\\(?:\\|[bfr]|u00[01][\da-f])|(?!\n)[\p{C}\p{Zl}\p{Zp}]/gu;

/** Log of the service on standard error: JSON lines, or readable ones on a terminal. `stream` takes the lines instead. */
export async function openServiceLog(level: string, isTerminal: boolean, stream?: Writable): Promise<Logger> {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (!isTerminal) return pino(options, stream ?? pino.destination(STDERR));
  // Loaded here: most services run without a terminal.
  const { default: pretty } = await import('pino-pretty');
  const shape = { translateTime: 'SYS:HH:MM:ss', singleLine: true, colorize: stream === undefined };
  return pino(
    { ...options, hooks: { streamWrite: visible } },
    pretty({ ...shape, destination: stream ?? STDERR, sync: true }),
  );
}

/** A line of JSON whose texts, once they are read, show control characters instead of holding them: callers choose some texts. */
function visible(line: string): string {
  return line.replace(OBEYED, (found) => {
    if (found === '\\\\') return found;
    return found.startsWith('\\') ? `\\${found}` : `\\${escapeInvisible(found)}`;
  });
}
