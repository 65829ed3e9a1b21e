import { StoreUnavailable } from '../../schemas/object-store/client.ts';
import { DiskRefusal, RootLost } from '../error.ts';
import { Unavailable } from '../sources/retry.ts';

/** True for a fault that is none of the date: another date would meet it, too, and this one is made once it has passed. */
export function isOfSurroundings(error: unknown): boolean {
  if (error instanceof StoreUnavailable || error instanceof Unavailable) return true;
  if (error instanceof RootLost || error instanceof DiskRefusal) return true;
  // Of the database: a connection that broke or was refused, or a server that is shutting down or starting.
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^(ECONN|EPIPE|ETIMEDOUT|08|57P)/.test(code) || /Connection terminated/.test((error as Error)?.message ?? '');
}
