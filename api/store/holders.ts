import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** A process that has a SQLite database open with its write-ahead log. */
export interface Holder {
  readonly pid: number;
  /** Whether it holds a lock on the database file, without which another process may delete the log. */
  readonly locked: boolean;
  /** Names of files that it has open and that were deleted or replaced. */
  readonly deleted: readonly string[];
}

const DELETED = ' (deleted)';

/** The other processes that have the database of a path open, as far as this user may see; null on systems without /proc. */
export function holdersOf(path: string): readonly Holder[] | null {
  if (process.platform !== 'linux') return null;
  const file = join(realpathSync(dirname(path)), basename(path));
  return namesIn('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => holderOf(pid, file) ?? []);
}

function holderOf(pid: string, file: string): Holder | null {
  const open = namesIn(`/proc/${pid}/fd`).flatMap((fd) => {
    const link = textOf(() => readlinkSync(`/proc/${pid}/fd/${fd}`));
    return link?.startsWith(file) ? { fd, link } : [];
  });
  const isOf = (link: string, name: string) => link === name || link === name + DELETED;
  // A shell that was started on the file and has not read yet has no log open, and needs no lock.
  if (!open.some(({ link }) => isOf(link, `${file}-wal`))) return null;
  const names = [file, `${file}-wal`, `${file}-shm`];
  return {
    pid: Number(pid),
    locked: open.some(({ fd, link }) => isOf(link, file) && holdsLock(pid, fd)),
    deleted: names.filter((name) => open.some(({ link }) => link === name + DELETED)),
  };
}

/** The lines of /proc/locks that belong to the file of a descriptor. */
function holdsLock(pid: string, fd: string): boolean {
  const info = textOf(() => readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8'));
  return info !== null && /^lock:.* POSIX /m.test(info);
}

/** Names in a folder of /proc; [] of a process that has ended or belongs to another user. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isOutOfSight(error)) return [];
    throw error;
  }
}

function textOf(read: () => string): string | null {
  try {
    return read();
  } catch (error) {
    if (isOutOfSight(error)) return null;
    throw error;
  }
}

function isOutOfSight(error: unknown): boolean {
  return ['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
}
