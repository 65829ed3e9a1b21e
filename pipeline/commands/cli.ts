import { CommanderError, InvalidArgumentError } from 'commander';
import { systemFault } from '../../schemas/system-fault.ts';
import { isCalendarDate } from '../../schemas/time.ts';
import { Conflict, NotFound, PipelineError, UsageError } from '../error.ts';

/** Exit codes of every command. */
export const EXIT = { done: 0, failure: 1, usage: 2, not_found: 3, conflict: 4, check_found: 5 } as const;

/** Exit code of an error, and the line that people read. Errors we did not foresee show their stack. */
export function explainError(error: unknown): { code: number; message: string } {
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? EXIT.done : EXIT.usage, message: '' };
  if (error instanceof UsageError) return { code: EXIT.usage, message: error.message };
  if (error instanceof NotFound) return { code: EXIT.not_found, message: error.message };
  if (error instanceof Conflict) return { code: EXIT.conflict, message: error.message };
  if (error instanceof PipelineError) return { code: EXIT.failure, message: error.message };
  const refused = systemFault(error);
  if (refused !== null) return { code: EXIT.failure, message: refused };
  return { code: EXIT.failure, message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

/** Argument parser: a date that exists in the calendar. */
export function calendarDate(text: string): string {
  if (!isCalendarDate(text))
    throw new InvalidArgumentError(`Found '${text}', expected a date that exists, as YYYY-MM-DD.`);
  return text;
}

/** Argument parser: a month, `YYYY-MM`. */
export function calendarMonth(text: string): string {
  if (!/^\d{4}-\d{2}$/.test(text) || !isCalendarDate(`${text}-01`))
    throw new InvalidArgumentError(`Found '${text}', expected a month as YYYY-MM.`);
  return text;
}

/** Argument parser: a whole number within bounds. */
export function wholeNumber(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < low || value > high)
      throw new InvalidArgumentError(`Found '${text}', expected a whole number from ${low} to ${high}.`);
    return value;
  };
}

/** Argument parser: a number within bounds. */
export function plainNumber(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+(\.\d+)?$/.test(text) || value < low || value > high)
      throw new InvalidArgumentError(`Found '${text}', expected a number from ${low} to ${high}.`);
    return value;
  };
}

/** `1234567` as `1,234,567`. */
export function grouped(value: number): string {
  return value.toLocaleString('en-US');
}

/** `noun` in the number that `count` asks for. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}
