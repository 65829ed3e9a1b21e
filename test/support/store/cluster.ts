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
  /** Starts a replica on another port that receives every commit soon after it: a standby of asynchronous streaming replication. */
  readonly follow: (port: number) => void;
  /** From now on that replica receives nothing more. */
  readonly cutOff: () => void;
  /** The server ends, and the replica answers at its address: for a moment as a standby does, which refuses to write. */
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
  const controlOf = (of: string, ...args: string[]) => run('pg_ctl', '-D', of, '-w', '-l', `${of}.log`, ...args);
  const startOf = (of: string, at: number) => {
    const options = `-p ${at} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=${fsync}`;
    controlOf(of, '-o', options, 'start');
  };
  const stopOf = (of: string) => controlOf(of, '-m', 'immediate', 'stop');
  const start = () => startOf(data, port);
  const stop = () => stopOf(data);
  if (process.getuid?.() === 0) {
    const [uid, gid] = ['-u', '-g'].map((option) => Number(execFileSync('id', [option, 'postgres'])));
    chownSync(folder, uid ?? 0, gid ?? 0);
  }
  run('initdb', '-D', data, '-U', 'hail', '-A', 'trust', '--no-sync');
  start();
  const copied = join(folder, 'copy');
  /** Port of the replica that follows; null: none does. */
  let follower: number | null = null;
  const backup = (...more: string[]) =>
    run(
      'pg_basebackup',
      ...['-D', copied, '-h', folder, '-p', String(port), '-U', 'hail', '-c', 'fast', '--no-sync', ...more],
    );
  const pid = () => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  return {
    url: `postgres://hail@127.0.0.1:${port}/postgres`,
    restart: () => {
      stop();
      start();
    },
    copy: () => backup(),
    follow: (at) => {
      backup('--write-recovery-conf');
      startOf(copied, at);
      follower = at;
    },
    cutOff: () => {
      const statements = ["alter system set primary_conninfo = ''", 'select pg_reload_conf()'];
      const commands = statements.flatMap((statement) => ['-c', statement]);
      run('psql', '-h', folder, '-p', String(follower), '-U', 'hail', '-q', ...commands, 'postgres');
    },
    failOver: () => {
      stop();
      if (follower !== null) stopOf(copied);
      data = copied;
      start();
      if (follower !== null) controlOf(data, 'promote');
      follower = null;
    },
    pid,
    kill: () => process.kill(pid(), 'SIGKILL'),
    start,
    stop: () => {
      stop();
      if (follower !== null) stopOf(copied);
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
