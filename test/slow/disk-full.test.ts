import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { contentOf, logicalContent, sameContent } from '../support/data/content.ts';
import { deliver, filesOf, publishedRoot, scansBetween, scratch } from '../support/data/world.ts';
import { command, ended, environmentOf, faultsOf, MAIN } from '../support/kill/killed.ts';

const evening = () => scansBetween('00:00', '00:13');
const EARLIER = 3;
const ONE_LINE = /^hail-pipeline: [^\n]*(the disk takes no more|cannot be written|could not be written)[^\n]*\n$/;

function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), 'hail-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' });
    execFileSync('umount', [folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A file system of its own, of a few megabytes. */
async function smallDisk(t: ExecutionContext, megabytes: number): Promise<string> {
  const folder = await scratch(t, 'disk');
  mkdirSync(folder);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  t.teardown(() => execFileSync('umount', ['-l', folder]));
  return folder;
}

/** Fills a disk but for some bytes; returns the file to delete. */
async function fillBut(disk: string, bytes: number): Promise<string> {
  const { bavail, bsize } = statfsSync(disk);
  const filler = join(disk, 'filler');
  await fs.writeFile(filler, randomBytes(bavail * bsize - bytes));
  return filler;
}

async function prepared(t: ExecutionContext) {
  const scans = await evening();
  const source = await publishedRoot(t, scans.slice(0, EARLIER));
  const from = await deliver(await scratch(t, 'from'), filesOf(scans));
  return { scans, source, args: ['ingest', '--source', 'dir', '--from', from, '--no-progress'] };
}

const quiet = { environment: { HAIL_LOG_LEVEL: 'silent' } };
const onDisk = canMount() ? test : test.skip;
const why = canMount() ? '' : ' (needs to mount a tmpfs: root on Linux)';

for (const free_kb of [0, 24, 160])
  onDisk(
    `a disk with ${free_kb} kB left is a clear error; nothing is published by half, and space makes it good${why}`,
    async (t) => {
      const { scans, source, args } = await prepared(t);
      const disk = await smallDisk(t, 8);
      const root = join(disk, 'root');
      await fs.cp(source, root, { recursive: true });
      const before = await logicalContent(root);
      const filler = await fillBut(disk, free_kb * 1024);
      const run = await command(root, args, quiet);
      t.is(run.code, 1, run.stdout);
      t.regex(run.stderr, ONE_LINE);
      t.deepEqual(await faultsOf(root), []);
      sameContent(t, await logicalContent(root), before);
      await fs.rm(filler);
      t.is((await command(root, args, quiet)).code, 0);
      sameContent(t, await logicalContent(root), await contentOf(scans));
    },
  );

test('a limit on the size of files is a clear error; nothing is published by half, and lifting it makes it good', async (t) => {
  const { scans, source: root, args } = await prepared(t);
  const before = await logicalContent(root);
  const limit_blocks = 4; // of 512 or 1024 bytes: less than any table file
  const run = await ended(limited(root, args, limit_blocks));
  t.is(run.code, 1, run.stdout);
  t.regex(run.stderr, ONE_LINE);
  t.deepEqual(await faultsOf(root), []);
  sameContent(t, await logicalContent(root), before);
  t.is((await command(root, args, quiet)).code, 0);
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

/** The command under a shell's limit on the size of the files it writes. */
function limited(root: string, args: readonly string[], blocks: number) {
  return spawn('sh', ['-c', `ulimit -f ${blocks}; exec "$@"`, 'sh', process.execPath, MAIN, ...args], {
    env: environmentOf(root, quiet),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
