import { StoreUnavailable } from '../../schemas/object-store/client.ts';
import { isDatabaseAway } from '../cluster/date-tasks.ts';
import { DiskRefusal, RootLost } from '../error.ts';
import { Unavailable } from '../sources/http.ts';

/** True for a fault that is none of the date: another date would meet it, too, and this one is made once it has passed. */
export function isOfSurroundings(error: unknown): error is Error {
  if (error instanceof StoreUnavailable || error instanceof Unavailable) return true;
  return error instanceof RootLost || error instanceof DiskRefusal || isDatabaseAway(error);
}
