import type { Logger } from 'pino';
import { addDays } from '../schemas/time.ts';
import type { Edition } from './catalog.ts';
import { PIXEL_FILE } from './queries/pixel-file.ts';
import type { Services } from './services.ts';

/** So many storm dates a question about a point may look back. */
const DAYS = 365;

/**
 * Reads, beside the answers, what questions about points will need of each edition: the day maxima of the last year, newest
 * first, as far as the memory has room. Nothing waits for it. The function returned ends it.
 */
export function startReadingAhead(
  { catalog, files }: Pick<Services, 'catalog' | 'files'>,
  log: Logger,
): () => Promise<void> {
  return catalog.afterEdition({
    react: async (edition) => files.readAhead(PIXEL_FILE, newestDayMaxima(edition)),
    failed: (error) => log.warn({ err: error }, 'Data:ReadAhead:Failed'),
  });
}

/** Day maxima of the last year, newest first: days that are in no month yet, then the months. */
function newestDayMaxima(edition: Edition): string[] {
  const last = edition.dates.at(-1);
  return last === undefined ? [] : edition.dayMaxPaths(addDays(last, 1 - DAYS), last).reverse();
}
