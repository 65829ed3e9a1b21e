import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { cataloguesOf } from '../../pipeline/catalogues/catalogues.ts';
import { UsageError } from '../../pipeline/error.ts';
import { readNewest } from '../../pipeline/publish/manifests.ts';
import { inParallel } from '../../pipeline/sources/parallel.ts';
import { layout } from '../../schemas/layout.ts';
import type { CatalogueName } from '../../schemas/settings.ts';
import { addDays } from '../../schemas/time.ts';
import { copyFolder } from '../support/data/prepared.ts';
import { scansBetween } from '../support/data/small-world.ts';
import { NOW_MS, onRoot, preparedMonth, preparedRoot, type RawScan, SCRATCH } from '../support/data/world.ts';

/** Dates before the running one: a month, a year, and ten years. */
const SIZES = [30, 365, 3650];
/** Scans that are published one by one after a first one, which opens the catalogues. */
const COMMITS = 8;
/** The closed date that all earlier dates are copies of, and the running one. */
const CLOSED = '2026-05-01';

const KEPT: Readonly<Record<string, readonly CatalogueName[] | null>> = {
  none: null,
  views: [],
  'views and stac': ['stac'],
  'views and iceberg': ['iceberg'],
};

/**
 * Processor time of all threads for one small scan and its commit, the median of some, on roots of different sizes, with the catalogues as ratios to none.
 * The scan is a thousandth of CONUS: what a commit costs on top of it is the same for a large one.
 */
export async function catalogues(args: string[]): Promise<void> {
  const { dates } = new Command('catalogues')
    .option('--dates <list>', 'closed dates of the roots, with commas between', SIZES.join())
    .parse(args, { from: 'user' })
    .opts<{ dates: string }>();
  const sizes = dates.split(',').map(Number);
  const wrong = sizes.find((size) => !Number.isInteger(size) || size < 1 || size > 9999);
  if (wrong !== undefined) throw new UsageError(`--dates is '${dates}', expected whole numbers from 1 to 9999`);
  const scans = await scansBetween('23:54', '00:30');
  const published = scans.filter(({ scan_id }) => scan_id < '20260502T0006');
  const later = scans.slice(published.length, published.length + COMMITS + 1);
  const open = await preparedRoot(published);
  const closed = await preparedMonth(published);
  const folder = await fs.mkdtemp(join(SCRATCH, 'hail-bench-'));
  try {
    // Compiles the code.
    await onCopy(folder, open, closed, 1, (root) => millisecondsPerCommit(root, ['stac', 'iceberg'], later));
    for (const size of sizes) {
      const spent = new Map<string, number>();
      for (const [name, kept] of Object.entries(KEPT)) {
        const measure = (root: string) => millisecondsPerCommit(root, kept, later);
        spent.set(name, await onCopy(folder, open, closed, size, measure));
      }
      const none = spent.get('none') ?? Number.NaN;
      for (const [name, ms] of spent)
        console.log(
          `commit, ${size} dates, ${name.padEnd(20)} ${ms.toFixed(0).padStart(6)} ms of processor   ratio ${(ms / none).toFixed(2)}`,
        );
    }
  } finally {
    await fs.rm(folder, { recursive: true, force: true });
  }
}

/** Works on a copy of a root with so many closed dates before its own. */
async function onCopy<Result>(
  folder: string,
  open: string,
  closed: string,
  dates: number,
  work: (root: string) => Promise<Result>,
): Promise<Result> {
  const root = join(folder, 'root');
  copyFolder(open, root);
  await addDates(root, closed, dates);
  const result = await work(root);
  await fs.rm(root, { recursive: true });
  return result;
}

/** Puts copies of a closed date before the dates of a root: lists with other dates in them, and files to them. */
async function addDates(root: string, from: string, count: number): Promise<void> {
  const manifest = await readNewest(from, CLOSED);
  if (manifest === null) throw new Error(`${CLOSED} is not published, expected a closed date`);
  const lists = [layout.head(CLOSED), layout.manifest(CLOSED, manifest.commit)];
  const texts = await Promise.all(lists.map((path) => fs.readFile(join(from, path), 'utf8')));
  const first = addDays(CLOSED, -count);
  for (let k = 0; k < count; k++) {
    const date = addDays(first, k);
    const renamed = (text: string) =>
      text.replaceAll(CLOSED, date).replaceAll(CLOSED.replaceAll('-', ''), date.replaceAll('-', ''));
    await inParallel(manifest.files, 16, async ({ path }) => {
      const place = join(root, renamed(path));
      await fs.mkdir(dirname(place), { recursive: true });
      await fs.copyFile(join(from, path), place);
    });
    await fs.mkdir(join(root, layout.manifestFolder(date)), { recursive: true });
    for (const [index, path] of lists.entries()) await fs.writeFile(join(root, renamed(path)), renamed(texts[index]));
  }
}

async function millisecondsPerCommit(
  root: string,
  kept: readonly CatalogueName[] | null,
  [first, ...scans]: readonly RawScan[],
): Promise<number> {
  const settings = { now_ms: NOW_MS, each_scan: true, catalogues: kept === null ? [] : cataloguesOf(kept) };
  return onRoot(root, settings, async ({ session }) => {
    await session.ingest([...(first?.files ?? [])]);
    const spent: number[] = [];
    for (const { files } of scans) {
      const begun = process.cpuUsage();
      await session.ingest([...files]);
      const { user, system } = process.cpuUsage(begun);
      spent.push((user + system) / 1000);
    }
    return spent.sort((a, b) => a - b)[Math.floor(spent.length / 2)] ?? Number.NaN;
  });
}
