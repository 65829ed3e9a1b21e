import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
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

/** Starts a PostgreSQL of the test's own on a free port and returns the address of its database. */
export function startCluster(t: ExecutionContext, port: number): string {
  if (postgresPrograms === null) throw new Error(`no PostgreSQL is below ${VERSIONS}, expected one`);
  const programs = postgresPrograms;
  const folder = mkdtempSync(join(tmpdir(), 'hail-cluster-'));
  const run = (program: string, ...args: string[]) => asPostgres(join(programs, program), args, folder);
  if (process.getuid?.() === 0) {
    const [uid, gid] = ['-u', '-g'].map((option) => Number(execFileSync('id', [option, 'postgres'])));
    chownSync(folder, uid ?? 0, gid ?? 0);
  }
  run('initdb', '-D', join(folder, 'db'), '-U', 'hail', '-A', 'trust', '--no-sync');
  const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=off`;
  run('pg_ctl', '-D', join(folder, 'db'), '-w', '-l', join(folder, 'log'), '-o', options, 'start');
  t.teardown(() => {
    run('pg_ctl', '-D', join(folder, 'db'), '-m', 'immediate', '-w', 'stop');
    rmSync(folder, { recursive: true, force: true });
  });
  return `postgres://hail@127.0.0.1:${port}/postgres`;
}

/** PostgreSQL does not run as root: its own user runs it then. */
function asPostgres(program: string, args: readonly string[], cwd: string): void {
  const [command = program, ...rest] =
    process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--', program, ...args] : [program, ...args];
  execFileSync(command, rest, { cwd, stdio: 'ignore' });
}
