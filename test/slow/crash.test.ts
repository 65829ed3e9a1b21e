import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { filesBelow } from '../../pipeline/files.ts';
import type { SourceFile } from '../../pipeline/sources/names.ts';
import { type Content, contentOfFiles, logicalContent, sameContent } from '../support/data/content.ts';
import {
  copyOf,
  deliver,
  filesOf,
  ingest,
  MONTH_LATER_MS,
  onRoot,
  type RawScan,
  scansBetween,
  scratch,
} from '../support/data/world.ts';
import { type CommandSettings, command, ended, faultsOf, killedAt, pointsOf, start } from '../support/kill/killed.ts';

/** `make test-kill` asks for every point, which takes most of an hour; otherwise a spread of them is tried. */
const EVERY_POINT = process.env.HAIL_TEST_EVERY_POINT === '1';
const SPREAD_POINTS = 8;

/** A command that is killed, on a root that was prepared for it, and what a rerun must lead to. */
interface Case {
  readonly prepared: string;
  readonly args: readonly string[];
  readonly settings: CommandSettings;
  readonly expected: Content;
}

/** Four scans around midnight, two products each: few points, and all kinds of them. */
async function smallEvening(): Promise<SourceFile[][]> {
  const scans = await scansBetween('23:56', '00:04');
  return scans.map((scan: RawScan) => scan.files.filter(({ product }) => product === 'MESH' || product === 'VIL'));
}

async function ingestOf(t: ExecutionContext, files: readonly SourceFile[]): Promise<string[]> {
  const from = await deliver(await scratch(t, 'from'), files);
  return ['ingest', '--source', 'dir', '--from', from, '--no-progress'];
}

const cases: Record<string, (t: ExecutionContext) => Promise<Case>> = {
  'a first ingest': async (t) => {
    const files = (await smallEvening()).flat();
    const prepared = await scratch(t, 'prepared');
    await fs.mkdir(prepared);
    return { prepared, args: await ingestOf(t, files), settings: {}, expected: await contentOfFiles(files) };
  },
  'making two dates again for a late scan': async (t) => {
    const scans = await smallEvening();
    const prepared = await scratch(t, 'prepared');
    await ingest(prepared, [...(scans[0] ?? []), ...scans.slice(2).flat()]);
    const expected = await contentOfFiles(scans.flat());
    return { prepared, args: await ingestOf(t, scans[1] ?? []), settings: {}, expected };
  },
  'closing dates and joining their month': async (t) => {
    const files = (await smallEvening()).flat();
    const prepared = await scratch(t, 'prepared');
    await ingest(prepared, files);
    const settings = { now_ms: MONTH_LATER_MS };
    return { prepared, args: ['compact'], settings, expected: await contentOfFiles(files) };
  },
  'joining an hour and sweeping': async (t) => {
    const scans = await smallEvening();
    const prepared = await scratch(t, 'prepared');
    const storm_day_start_hour = 12;
    await onRoot(prepared, { storm_day_start_hour, each_scan: true }, async ({ session }) => {
      for (const files of scans) await session.ingest(files);
    });
    const old_s = Date.now() / 1000 - 86_400;
    for (const name of await filesBelow(prepared)) await fs.utimes(join(prepared, name), old_s, old_s);
    const settings = { environment: { HAIL_STORM_DAY_START_HOUR: '12' } };
    return {
      prepared,
      args: ['compact'],
      settings,
      expected: await contentOfFiles(scans.flat(), { storm_day_start_hour }),
    };
  },
};

for (const [what, prepare] of Object.entries(cases))
  test.serial(`kill -9 at points all over ${what}, then a rerun, gives what an uninterrupted run gives`, async (t) => {
    const given = await prepare(t);
    const points = await pointsOf(t, await copyOf(t, given.prepared), given.args, given.settings);
    const all = EVERY_POINT ? points.map((_, index) => index + 1) : spread(points);
    t.log(`${all.length} of ${points.length} points`);
    const lanes = [0, 1].map((lane) => all.filter((_, index) => index % 2 === lane));
    await Promise.all(lanes.map((lane) => survive(t, given, lane, points)));
  });

/** Points spread evenly, from the first to the last. */
function spread(points: readonly string[]): number[] {
  const step = Math.max(1, (points.length - 1) / (SPREAD_POINTS - 1));
  return Array.from({ length: Math.min(SPREAD_POINTS, points.length) }, (_, index) => 1 + Math.round(index * step));
}

async function survive(t: ExecutionContext, given: Case, points: readonly number[], names: readonly string[]) {
  for (const point of points) {
    const root = await copyOf(t, given.prepared);
    await killedAt(root, given.args, point, given.settings);
    t.deepEqual(await faultsOf(root), [], names[point - 1]);
    const rerun = await command(root, given.args, given.settings);
    t.is(rerun.code, 0, `${names[point - 1]}: ${rerun.stderr}`);
    t.deepEqual(await faultsOf(root), [], names[point - 1]);
    sameContent(t, await logicalContent(root), given.expected);
    await fs.rm(root, { recursive: true });
  }
}

test.serial('kill -9 at arbitrary moments, again and again on the same root, leaves nothing wrong', async (t) => {
  const files = filesOf(await scansBetween('23:50', '00:06'));
  const args = await ingestOf(t, files);
  const root = await scratch(t);
  let state = 1;
  for (let run = 0; run < 40; run++) {
    state = (state * 48_271) % 2_147_483_647; // minimal standard generator: the same moments every time
    const child = start(root, args);
    const timer = setTimeout(() => child.kill('SIGKILL'), 250 + (state % 900));
    await ended(child);
    clearTimeout(timer);
    t.deepEqual(await faultsOf(root), []);
    if (run % 10 === 9) {
      t.is((await command(root, args)).code, 0);
      sameContent(t, await logicalContent(root), await contentOfFiles(files));
      await fs.rm(root, { recursive: true });
    }
  }
});
