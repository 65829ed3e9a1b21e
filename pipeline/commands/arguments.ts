import { availableParallelism } from 'node:os';
import { CommanderError, InvalidArgumentError, Option } from 'commander';
import { EXIT, explainOtherError } from '../../schemas/command-line.ts';
import { isCalendarDate } from '../../schemas/time.ts';
import { Conflict, NotFound, PipelineError, UsageError } from '../error.ts';
import { SCAN_PRODUCTS } from '../sources/names.ts';

/** Seed of the simulated weather without --seed. */
export const DEFAULT_SEED = 7;

/** Exit code of an error, and its message. Unforeseen errors show their stack. */
export function explainError(error: unknown): { code: number; message: string } {
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? EXIT.done : EXIT.usage, message: '' };
  if (error instanceof UsageError) return { code: EXIT.usage, message: error.message };
  if (error instanceof NotFound) return { code: EXIT.not_found, message: error.message };
  if (error instanceof Conflict) return { code: EXIT.conflict, message: error.message };
  if (error instanceof PipelineError) return { code: EXIT.failure, message: error.message };
  return explainOtherError(error);
}

/** Argument parser: a date that exists in the calendar. */
export function calendarDate(text: string): string {
  if (!isCalendarDate(text))
    throw new InvalidArgumentError(`Found '${text}', expected a date that exists, as YYYY-MM-DD.`);
  return text;
}

/** Argument parser: a number within bounds, in digits and at most one point. */
export function plainNumber(low: number, high: number, form = /^\d+(\.\d+)?$/, what = 'a number') {
  return (text: string): number => {
    const value = Number(text);
    if (!form.test(text) || value < low || value > high)
      throw new InvalidArgumentError(`Found '${text}', expected ${what} from ${low} to ${high}.`);
    return value;
  };
}

/** Argument parser: a whole number within bounds. */
export function wholeNumber(low: number, high: number) {
  return plainNumber(low, high, /^\d+$/, 'a whole number');
}

/** Option `--products`. */
export function productsOption(): Option {
  const text = `products to fetch, comma-separated (default: all of ${SCAN_PRODUCTS.join(',')})`;
  return new Option('--products <list>', text).argParser(productList);
}

/** Argument parser: known products, comma-separated. */
function productList(text: string): string[] {
  const products = text.split(',').filter((product) => product !== '');
  const unknown = products.filter((product) => !SCAN_PRODUCTS.includes(product));
  if (products.length === 0 || unknown.length > 0)
    throw new UsageError(
      `--products names ${unknown.join(', ') || 'nothing'}, expected some of ${SCAN_PRODUCTS.join(', ')}`,
    );
  if (!products.includes('MESH'))
    throw new UsageError('--products leaves out MESH, expected it among them: its files are the scans');
  return products;
}

/** Threads that decode: all cores but the one that tracks and publishes, at most three. */
export function readerThreads(): number {
  return Math.min(3, Math.max(1, availableParallelism() - 1));
}
