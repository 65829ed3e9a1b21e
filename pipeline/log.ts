import { MultiBar, type SingleBar } from 'cli-progress';
import pino, { type Logger } from 'pino';
import { counted } from '../schemas/command-line.ts';

/** Fields of an event; data belong here, not into the name. */
export type Fields = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

/**
 * Log of the pipeline: events with fields (`Scan:Commit:Done`), and progress of a piece of work.
 * On a terminal progress is a bar and info events are not shown; elsewhere events are plain JSON lines on standard error.
 */
export interface Log {
  readonly info: (event: string, fields: Fields) => void;
  readonly warn: (event: string, fields: Fields) => void;
  readonly progress: (what: string, done: number, total: number) => void;
  readonly close: () => void;
}

/** A log that discards everything. */
export const silent: Log = { info: () => {}, warn: () => {}, progress: () => {}, close: () => {} };

/** A log on standard error. `progress` asks for bars and needs a terminal. */
export function openLog(level: string, progress: boolean): Log {
  if (progress) return progressBarLog();
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return jsonLog(pino(options, pino.destination({ dest: 2, sync: true })));
}

/** The log of a stream on a terminal: a line for people for every scan that was published, and for every warning. */
export function terminalLog(say = (line: string): void => void process.stderr.write(`${line}\n`)): Log {
  const words: Readonly<Record<string, (fields: Fields) => string>> = {
    'Stream:Start': ({ source, data }) =>
      source === 'simulate'
        ? `Simulating weather, not real, and publishing it under ${data}. Ctrl-C stops it.`
        : `Following ${source}, publishing under ${data}. Ctrl-C stops it.`,
    'Scan:Commit:Done': published,
    'Stream:Stop': () => 'Stopped.',
  };
  return {
    info: (event, fields) => {
      const line = words[event]?.(fields);
      if (line !== undefined) say(line);
    },
    warn: (event, fields) => say(`${event} ${spelled(fields)}`),
    progress: () => {},
    close: () => {},
  };
}

function published({ newest, scans, redone, detections, cells }: Fields): string {
  const rows = `${counted(Number(detections), 'detection')}, ${counted(Number(cells), 'storm cell')}`;
  if (redone !== 0)
    return `${newest}  ${rows}  (${redone} of ${counted(Number(scans), 'scan')} made again because something came late)`;
  return `${newest}${Number(scans) > 1 ? ` and ${Number(scans) - 1} before it` : ''}  ${rows}`;
}

function spelled(fields: Fields): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ');
}

function jsonLog(logger: Logger): Log {
  let lastTenth = -1;
  return {
    info: (event, fields) => logger.info(fields, event),
    warn: (event, fields) => logger.warn(fields, event),
    progress: (what, done, total) => {
      const tenth = Math.floor((10 * done) / Math.max(1, total));
      if (tenth === lastTenth) return;
      lastTenth = tenth;
      logger.info({ what, done, total }, 'Run:Progress');
    },
    close: () => {},
  };
}

function progressBarLog(): Log {
  const format = '{what} {bar} {value}/{total}  {duration_formatted}';
  const bars = new MultiBar(
    { stream: process.stderr, hideCursor: true, clearOnComplete: false, format },
    { format, barCompleteChar: '█', barIncompleteChar: '░' },
  );
  const open = new Map<string, SingleBar>();
  return {
    info: () => {},
    warn: (event, fields) => bars.log(`${event} ${spelled(fields)}\n`),
    progress: (what, done, total) => {
      const bar = open.get(what) ?? bars.create(total, done, { what: what.padEnd(12) });
      open.set(what, bar);
      bar.setTotal(total);
      bar.update(done);
    },
    close: () => bars.stop(),
  };
}
