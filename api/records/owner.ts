import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Names the process table that numbers of processes mean something in: several machines may have one host name, and so may
 * containers. On Linux the boot and the namespace distinguish them; elsewhere the host name alone stands for the machine.
 */
export const PROCESS_TABLE = [hostname(), ...(process.platform === 'linux' ? linuxProcessTable() : [])].join('/');

/** This process, as owner of claims and leases: the last part distinguishes it from an earlier one with the same number. */
export const OWNER = `${PROCESS_TABLE} ${process.pid} ${randomUUID()}`;

/** True when the process of an owner is known to have died; of another process table, none is known to. */
export function isDead(owner: string): boolean {
  if (owner === OWNER) return false;
  const [table, pid = ''] = owner.split(' ');
  if (table !== PROCESS_TABLE || !/^[1-9]\d*$/.test(pid)) return false;
  if (Number(pid) === process.pid) return true;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function linuxProcessTable(): readonly string[] {
  return [readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), readlinkSync('/proc/self/ns/pid')];
}
