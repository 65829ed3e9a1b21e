import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';

const VERSIONS = '/usr/lib/postgresql';

/** Folder of the newest PostgreSQL that Debian's packages installed; null without one. */
export const postgresPrograms: string | null =
  (existsSync(VERSIONS) ? readdirSync(VERSIONS) : [])
    .sort((a, b) => Number(a) - Number(b))
    .map((version) => join(VERSIONS, version, 'bin'))
    .findLast((folder) => existsSync(join(folder, 'initdb'))) ?? null;

/** A PostgreSQL of the test's own. */
export interface Cluster {
  /** Address of its database. */
  readonly url: string;
  /** Ends every session and starts the server again, as after a power cut. */
  readonly restart: () => void;
  /** Copies the server as it is now: a replica that receives nothing more. */
  readonly copy: () => void;
  /** The server ends, and that replica answers at its address. */
  readonly failOver: () => void;
  /** Process that all its others descend from. */
  readonly pid: () => number;
  /** Kills that process; the others end when they find it gone. */
  readonly kill: () => void;
  readonly start: () => void;
  readonly stop: () => void;
}

/** Starts a PostgreSQL on a free port. `fsync`: whether a commit waits for the disk. */
export function runCluster(port: number, fsync: 'on' | 'off' = 'off'): Cluster {
  if (postgresPrograms === null) throw new Error(`no PostgreSQL is below ${VERSIONS}, expected one`);
  const programs = postgresPrograms;
  const folder = mkdtempSync(join(tmpdir(), 'hail-cluster-'));
  let data = join(folder, 'db');
  const run = (program: string, ...args: string[]) => asPostgres(join(programs, program), args, folder);
  const control = (...args: string[]) => run('pg_ctl', '-D', data, '-w', '-l', join(folder, 'log'), ...args);
  const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=${fsync}`;
  const start = () => control('-o', options, 'start');
  const stop = () => control('-m', 'immediate', 'stop');
  if (process.getuid?.() === 0) {
    const [uid, gid] = ['-u', '-g'].map((option) => Number(execFileSync('id', [option, 'postgres'])));
    chownSync(folder, uid ?? 0, gid ?? 0);
  }
  run('initdb', '-D', data, '-U', 'hail', '-A', 'trust', '--no-sync');
  start();
  const copied = join(folder, 'copy');
  const pid = () => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  return {
    url: `postgres://hail@127.0.0.1:${port}/postgres`,
    restart: () => {
      stop();
      start();
    },
    copy: () =>
      run('pg_basebackup', '-D', copied, '-h', folder, '-p', String(port), '-U', 'hail', '-c', 'fast', '--no-sync'),
    failOver: () => {
      stop();
      data = copied;
      start();
    },
    pid,
    kill: () => process.kill(pid(), 'SIGKILL'),
    start,
    stop: () => {
      stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a PostgreSQL for one test on a free port and returns the address of its database. */
export function startCluster(t: ExecutionContext, port: number): string {
  const { url, stop } = runCluster(port);
  t.teardown(stop);
  return url;
}

/** PostgreSQL does not run as root: its own user runs it then. */
function asPostgres(program: string, args: readonly string[], cwd: string): void {
  const [command = program, ...rest] =
    process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--', program, ...args] : [program, ...args];
  execFileSync(command, rest, { cwd, stdio: 'ignore' });
}
