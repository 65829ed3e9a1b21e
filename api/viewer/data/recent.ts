import { SWATH_MIN_MM } from '../page/palette.ts';
import type { DayIndex, Frame } from './day.ts';

export const RECENT_HOURS = 24;

/**
 * The last 24 hours until the newest scan: its date, and the scans of the date before that are not older. An archive of swaths
 * holds a whole date, so that it is left out when no scan of these hours has such hail, and named when it shows more than them.
 */
export function lastHours(newest: DayIndex, before: DayIndex): DayIndex {
  const last = newest.frames.at(-1);
  if (!last || before.date === null) return newest;
  const from_ms = Date.parse(last.scan_time) - RECENT_HOURS * 3_600_000;
  const from = new Date(from_ms).toISOString().replace('.000Z', 'Z');
  const isSwath = ({ max_size_mm }: Frame) => max_size_mm !== null && max_size_mm >= SWATH_MIN_MM;
  const isRecent = ({ scan_time }: Frame) => Date.parse(scan_time) >= from_ms;
  const kept = before.frames.filter(isRecent);
  const sources = new Set([newest.source, ...(kept.length > 0 ? [before.source] : [])]);
  return {
    ...newest,
    frames: [...kept, ...newest.frames],
    source: sources.size > 1 ? 'mixed' : newest.source,
    before: {
      date: before.date,
      daily_url: kept.some(isSwath) ? before.daily_url : null,
      scans: kept.length,
      from,
      shows_earlier: before.frames.some((frame) => !isRecent(frame) && isSwath(frame)),
    },
  };
}
