import type { Logger } from 'pino';
import { addDays } from '../../schemas/time.ts';
import type { Catalog, Edition } from '../catalog.ts';
import type { FileMemory } from './file-memory.ts';
import { PIXEL_FILE } from './pixel-file.ts';

/** So many storm dates a question about a point may look back. */
const DAYS = 365;

/**
 * Reads, beside the answers, what questions about points will need of each edition: the day maxima of the last year, newest
 * first, as far as the memory has room. Nothing waits for it. The function returned ends it.
 */
export function startReadingAhead(
  { catalog, files }: { readonly catalog: Catalog; readonly files: FileMemory },
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
