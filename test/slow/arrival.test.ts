import fs from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import test from 'ava';
import { Conflict } from '../../pipeline/error.ts';
import { readNewest } from '../../pipeline/publish/manifests.ts';
import { listFolder } from '../../pipeline/sources/folder.ts';
import type { SourceFile } from '../../pipeline/sources/names.ts';
import { contentOf, contentOfFiles, logicalContent, sameContent } from '../support/data/content.ts';
import { packedAnew, published, without } from '../support/data/published-scans.ts';
import { pluck } from '../support/data/rows.ts';
import { aroundMidnight, midnight, scansBetween } from '../support/data/small-world.ts';
import { publishBlockage, RING_OF_KTLX } from '../support/data/terrain.ts';
import {
  altered,
  asObserved,
  filesOf,
  ingest,
  MONTH_LATER_MS,
  NOW_MS,
  onRoot,
  rawScans,
  SCRATCH,
  scratch,
} from '../support/data/world.ts';
import { faultsOf } from '../support/kill/killed.ts';

/** Minimal standard generator: the same order for the same seed. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

function shuffled<Item>(items: readonly Item[], draw: (below: number) => number): Item[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const other = draw(last + 1);
    [order[last], order[other]] = [order[other] as Item, order[last] as Item];
  }
  return order;
}

/** MESH and VIL of the evening with a gap of more than 30 minutes in it. */
async function files(): Promise<SourceFile[]> {
  const scans = (await rawScans()).filter((_, index) => index < 4 || (index >= 17 && index < 27));
  return scans.flatMap((scan) => scan.files.filter(({ product }) => product === 'MESH' || product === 'VIL'));
}

for (let seed = 1; seed <= 4; seed++)
  test(`files that arrive in any order, in any pieces, over any number of runs, give the content of the right order (order ${seed})`, async (t) => {
    const draw = generator(1000 * seed);
    const given = await files();
    const expected = await contentOfFiles(given, { now_ms: seed % 3 === 0 ? MONTH_LATER_MS : NOW_MS });
    const root = await fs.mkdtemp(join(SCRATCH, 'hail-arrival-'));
    t.teardown(() => fs.rm(root, { recursive: true, force: true }));
    const left = shuffled(given, draw);
    while (left.length > 0) {
      // Sometimes the date is over, is closed by this run, and what comes later opens it again.
      const now_ms = seed % 3 === 0 ? MONTH_LATER_MS : NOW_MS;
      await onRoot(root, { each_scan: draw(2) === 0, now_ms }, async ({ session }) => {
        for (let run = 1 + draw(3); run > 0 && left.length > 0; run--) {
          const piece = left.splice(0, 1 + draw(5));
          // Some come again.
          const again =
            draw(3) === 0 ? [given[draw(given.length)] as SourceFile].filter((file) => !left.includes(file)) : [];
          await session.ingest([...piece, ...again]);
          if (draw(3) === 0) await session.finishDates();
        }
      });
      t.deepEqual(await faultsOf(root), []);
    }
    await onRoot(root, { now_ms: seed % 3 === 0 ? MONTH_LATER_MS : NOW_MS }, ({ session }) => session.finishDates());
    sameContent(t, await logicalContent(root), expected);
  });
test('with a terrain model too the content does not depend on how the input is cut', async (t) => {
  const scans = await midnight();
  const [whole, cut] = [await scratch(t, 'whole'), await scratch(t, 'cut')];
  for (const root of [whole, cut]) await publishBlockage(root, RING_OF_KTLX);
  await ingest(whole, scans);
  await ingest(cut, without(scans, 3, 4));
  await ingest(cut, scans.slice(4));
  await ingest(cut, scans.slice(0, 4));
  sameContent(t, await logicalContent(cut), await logicalContent(whole));
});

test('hours that are rolled up, dates that are closed and months that are joined keep their content', async (t) => {
  const scans = await midnight();
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session, root: { heads, manifest } }) => {
    for (const scan of scans) await session.ingest(scan.files);
    const pieces = async () => {
      const lists = await Promise.all([...heads.keys()].map(manifest));
      return new Set(lists.flatMap((list) => (list?.scans ?? []).map((scan) => scan.segment))).size;
    };
    t.is(await pieces(), scans.length);
    await session.finishDates();
    // The hour of a date's newest scan is left alone.
    t.is(await pieces(), scans.length);
  });
  const open = await logicalContent(root);
  await ingest(root, [], { now_ms: MONTH_LATER_MS });
  const heads = [await readNewest(root, '2026-05-01'), await readNewest(root, '2026-05-02')];
  for (const head of heads) {
    t.true(head?.closed);
    t.is(new Set(head?.scans.map((scan) => scan.segment)).size, 1);
    t.is(head?.files.filter((file) => file.table === 'detections').length, 1);
  }
  sameContent(t, await logicalContent(root), open);
});

test('observed and simulated scans never share a storm date, until one takes the place of the other', async (t) => {
  const scans = await aroundMidnight();
  const observed = await asObserved(t, scans);
  const content = await contentOfFiles(filesOf(observed));
  t.regex(content['2026-05-01 scans']?.[0] ?? '', /^observed/);
  const { root } = await published(t, scans);
  const before = await logicalContent(root);
  const error = await t.throwsAsync(ingest(root, observed), { instanceOf: Conflict });
  t.regex(error?.message ?? '', /--replace/);
  sameContent(t, await logicalContent(root), before);
  await onRoot(root, {}, async ({ session }) => {
    const files = filesOf(observed);
    await session.replace(files);
    await session.ingest(files);
    await session.finishDates();
  });
  sameContent(t, await logicalContent(root), content);
});

test('a terrain model that comes later leaves published scans alone until they are made again', async (t) => {
  const scans = await scansBetween('00:00', '00:06');
  const { root, content } = await published(t, scans);
  await publishBlockage(root, RING_OF_KTLX);
  await ingest(root, scans);
  sameContent(t, await logicalContent(root), content);
  await onRoot(root, {}, async ({ session }) => {
    await session.rebuild('2026-05-02');
    await session.finishDates();
  });
  const first = await scratch(t, 'first');
  await publishBlockage(first, RING_OF_KTLX);
  await ingest(first, scans);
  sameContent(t, await logicalContent(root), await logicalContent(first));
  t.notDeepEqual(await logicalContent(root), content);
});

test('two files of one time that say different things are named: the one that goes first by content is used, wherever they lie', async (t) => {
  const [scan, other] = await scansBetween('00:00', '00:04');
  const [mesh, later] = [scan?.files[0], other?.files[0]];
  if (mesh === undefined || later === undefined) return t.fail();
  // Bytes behind the end of a GRIB message are no fault: the same scan in two contents of one size.
  const grid = gunzipSync(await fs.readFile(mesh.location));
  const [one, two] = [await scratch(t, 'one'), await scratch(t, 'two')];
  const pack = (tail: string) => gzipSync(Buffer.concat([grid, Buffer.from(tail)]), { level: 0 });
  const contents: string[] = [];
  for (const [first, second] of [
    [one, two],
    [two, one],
  ]) {
    const files = [await altered(first as string, mesh, pack('a')), await altered(second as string, mesh, pack('b'))];
    const root = await scratch(t);
    const run = await ingest(root, [...files, ...(scan?.files.slice(1) ?? [])]);
    t.deepEqual([run.scans, run.duplicates], [1, 0]);
    t.deepEqual(pluck(run.rejected, 'file'), [mesh.name]);
    const [{ reason = '' } = {}] = run.rejected;
    t.regex(reason, /^holds other content than '.*' of the same product and time, which is used/);
    const archived = (await listFolder(join(root, 'archive', 'simulated'))).files;
    const kept = archived.find(({ name }) => name === mesh.name);
    const bytes = gunzipSync(await fs.readFile(kept?.location ?? ''));
    contents.push(bytes.subarray(-1).toString());
    t.deepEqual((await ingest(root, files)).rejected, []);
  }
  t.is(contents[0], contents[1]);
});

test('a redo ends with its date when the tracks come out the same, and the date after stays', async (t) => {
  const scans = await aroundMidnight();
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans) await session.ingest(scan.files);
  });
  const before = (await readNewest(root, '2026-05-02'))?.scans;
  const run = await ingest(root, [await packedAnew(t, scans[1])]);
  t.deepEqual([run.scans, run.redone, run.dates], [0, 2, ['2026-05-01']]);
  t.deepEqual((await readNewest(root, '2026-05-02'))?.scans, before);
});

test('a late scan beyond a gap of 30 minutes touches nothing of the other stretch', async (t) => {
  const early = await scansBetween('23:28', '23:34');
  const later = await scansBetween('00:10', '00:14');
  const { root } = await published(t, [...without(early, 1), ...later]);
  const before = await readNewest(root, '2026-05-02');
  const run = await ingest(root, early.slice(1, 2));
  t.is(run.scans, 1);
  t.deepEqual(run.dates, ['2026-05-01']);
  const after = await readNewest(root, '2026-05-02');
  t.is(after?.commit, before?.commit);
  const content = await contentOf([...early, ...later]);
  sameContent(t, await logicalContent(root), content);
});

test('segments of a finished hour are joined; those of the hour of the newest scan are left alone', async (t) => {
  const scans = await aroundMidnight();
  const settings = { each_scan: true, storm_day_start_hour: 12 };
  const root = await scratch(t);
  await onRoot(root, settings, async ({ session }) => {
    for (const scan of scans) await session.ingest(scan.files);
    await session.finishDates();
  });
  const segments = (await readNewest(root, '2026-05-01'))?.scans.map(({ segment }) => segment) ?? [];
  const [before, after] = [segments.slice(0, 3), segments.slice(3)];
  t.deepEqual([new Set(before).size, new Set(after).size], [1, scans.length - 3]);
  sameContent(t, await logicalContent(root), await contentOfFiles(filesOf(scans), { storm_day_start_hour: 12 }));
});

test('a scan that comes late for a closed date opens it, and settling closes it again with the content of the right order', async (t) => {
  const scans = await aroundMidnight();
  const content = await contentOf(scans);
  const { root } = await published(t, without(scans, 4), MONTH_LATER_MS);
  await ingest(root, scans.slice(4, 5), { now_ms: MONTH_LATER_MS });
  t.true((await readNewest(root, '2026-05-01'))?.closed);
  t.true((await readNewest(root, '2026-05-02'))?.closed);
  sameContent(t, await logicalContent(root), content);
});

test('with storm days that start at 12 UTC the evening is one storm date, and works the same', async (t) => {
  const scans = await scansBetween('23:56', '00:04');
  const settings = { storm_day_start_hour: 12 };
  const [whole, reversed] = [await scratch(t), await scratch(t)];
  await ingest(whole, scans, settings);
  for (const scan of scans.toReversed()) await ingest(reversed, [scan], settings);
  const content = await logicalContent(whole);
  const withScans = Object.keys(content).filter((part) => part.endsWith(' scans'));
  t.deepEqual(withScans, ['2026-05-01 scans']);
  sameContent(t, await logicalContent(reversed), content);
  await t.throwsAsync(ingest(whole, scans), { message: /start at 12 UTC, expected 0/ });
});

test('files that were refused for the kind of their date are judged anew once the date holds the other kind', async (t) => {
  const scans = await scansBetween('00:00', '00:10');
  const observed = await asObserved(t, scans);
  const { root } = await published(t, scans.slice(0, 2));
  const run = await ingest(root, filesOf(observed), { each_scan: true });
  t.is(run.scans, 0);
  // With them go companions that come as corrections of published ones.
  const rejected = pluck(run.rejected, 'file').filter((name) => name.includes('_MESH_'));
  const expected = observed.map(({ files: [mesh] }) => mesh?.name);
  t.deepEqual(rejected.sort(), expected);
  t.true(run.rejected.every(({ reason }) => /^observed data, expected simulated data/.test(reason)));
  await onRoot(root, {}, async ({ session }) => {
    await session.replace(filesOf(observed));
    await session.ingest(filesOf(observed));
    await session.finishDates();
  });
  sameContent(t, await logicalContent(root), await contentOfFiles(filesOf(observed)));
});

test('a date that was given over to the other kind takes that kind alone from then on', async (t) => {
  const scans = await scansBetween('00:00', '00:10');
  const observed = await asObserved(t, scans);
  const { root } = await published(t, scans.slice(0, 2));
  await onRoot(root, {}, async ({ session }) => {
    await session.ingest(scans.slice(2, 3).flatMap(({ files }) => files));
    await session.replace(filesOf(observed));
    const mixed = [...filesOf(observed.slice(0, 1)), ...filesOf(scans.slice(1, 2))];
    const { rejected } = await session.ingest(mixed);
    t.deepEqual(pluck(rejected, 'file'), [scans[1]?.files[0]?.name]);
    await session.ingest(filesOf(observed));
    await session.finishDates();
  });
  sameContent(t, await logicalContent(root), await contentOfFiles(filesOf(observed)));
});

test('the evening has storms, tracks and tiers on both sides of midnight', async (t) => {
  const content = await contentOf(await aroundMidnight());
  for (const date of ['2026-05-01', '2026-05-02'])
    for (const table of ['detections', 'cells', 'tracks', 'day-max', 'swaths', 'event-days'])
      t.true((content[`${date} ${table}`]?.length ?? 0) > 0, `${date} ${table}`);
});

test('a scan that bridges a gap joins the two stretches', async (t) => {
  const early = await scansBetween('23:28', '23:34');
  const bridge = await scansBetween('23:50', '23:54');
  const later = await scansBetween('00:10', '00:14');
  const { root } = await published(t, [...early, ...later]);
  await ingest(root, bridge);
  // What is filled in between two scans lies before the first scan of a file, and is no fault.
  t.deepEqual(await faultsOf(root), []);
  const content = await contentOf([...early, ...bridge, ...later]);
  sameContent(t, await logicalContent(root), content);
});

test('new scans after a redo that ended with its date remember the scans before them', async (t) => {
  const scans = await aroundMidnight();
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans.slice(0, 4)) await session.ingest(scan.files);
  });
  const anew = await packedAnew(t, scans[1]);
  const run = await ingest(root, [anew, ...filesOf(scans.slice(4))]);
  t.deepEqual([run.scans, run.redone], [scans.length - 4, 2]);
  sameContent(t, await logicalContent(root), await contentOfFiles([...filesOf(scans), anew]));
});
