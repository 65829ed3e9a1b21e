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

/** A PostgreSQL of a program's own. */
export interface PostgresServer {
  /** Address of its database. */
  readonly url: string;
  /** Process that all its others descend from. */
  readonly pid: () => number;
  readonly start: () => void;
  /** Ends it; a killed one does not end its sessions in order. */
  readonly stop: (mode: 'fast' | 'immediate') => void;
  readonly remove: () => void;
}

/** Makes and starts a PostgreSQL on a port. `fsync`: whether a commit waits for the disk. */
export function runPostgres(port: number, fsync: 'on' | 'off' = 'off'): PostgresServer {
  if (postgresPrograms === null) throw new Error(`no PostgreSQL is below ${VERSIONS}, expected one`);
  const programs = postgresPrograms;
  const folder = mkdtempSync(join(tmpdir(), 'hail-cluster-'));
  const run = (program: string, ...args: string[]) => asPostgres(join(programs, program), args, folder);
  if (process.getuid?.() === 0) {
    const [uid, gid] = ['-u', '-g'].map((option) => Number(execFileSync('id', [option, 'postgres'])));
    chownSync(folder, uid ?? 0, gid ?? 0);
  }
  run('initdb', '-D', join(folder, 'db'), '-U', 'hail', '-A', 'trust', '--no-sync');
  const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=${fsync}`;
  const server: PostgresServer = {
    url: `postgres://hail@127.0.0.1:${port}/postgres`,
    pid: () => Number(readFileSync(join(folder, 'db/postmaster.pid'), 'utf8').split('\n')[0]),
    start: () => run('pg_ctl', '-D', join(folder, 'db'), '-w', '-l', join(folder, 'log'), '-o', options, 'start'),
    stop: (mode) => run('pg_ctl', '-D', join(folder, 'db'), '-m', mode, '-w', 'stop'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
  server.start();
  return server;
}

/** Starts a PostgreSQL of the test's own on a free port and returns the address of its database. */
export function startCluster(t: ExecutionContext, port: number): string {
  const server = runPostgres(port);
  t.teardown(() => {
    server.stop('immediate');
    server.remove();
  });
  return server.url;
}

/** PostgreSQL does not run as root: its own user runs it then. */
function asPostgres(program: string, args: readonly string[], cwd: string): void {
  const [command = program, ...rest] =
    process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--', program, ...args] : [program, ...args];
  execFileSync(command, rest, { cwd, stdio: 'ignore' });
}
