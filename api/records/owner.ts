import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** This process, as owner of claims and leases: the last part tells it from an earlier one with the same number. */
export const OWNER = `${hostname()} ${process.pid} ${randomUUID()}`;

/** True when the process of an owner is known to have died; processes of other machines are never known to. */
export function isDead(owner: string): boolean {
  if (owner === OWNER) return false;
  const [host, pid = ''] = owner.split(' ');
  if (host !== hostname() || !/^[1-9]\d*$/.test(pid)) return false;
  if (Number(pid) === process.pid) return true;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
