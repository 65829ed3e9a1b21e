import { readFile } from 'node:fs/promises';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import type { TrackCell } from '../../../pipeline/track/track-cell.ts';
import { follow, type Patch } from '../../support/data/parting.ts';
import { patchCell, texture } from '../../support/data/patch-cell.ts';
import { hasSharedData, sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { cropField, trackCells } from '../../support/data/track-cells.ts';

const SCANS = 16;
const CHANGE = 8;

/** Large rain cores of the first real frame, read once. */
const cores: Promise<Patch[]> = hasSharedData ? realCores() : Promise.resolve([]);

async function realCores(): Promise<Patch[]> {
  const name = 'PrecipRate_00.00_20190610-000000.grib2';
  const window = { row0: 500, col0: 500, rows: 2800, cols: 5800 };
  const field = cropField(hailField(readGrid(await readFile(sharedData('mrms-sequence', name)), name)), window, 500);
  return trackCells(field, findObjects(field, 1, 8))
    .filter(({ rows }) => rows.length >= 60 && rows.length <= 250)
    .map(texture);
}

/** The half of a core that lies furthest to the east: what is left when its western half decays. */
function eastHalf(core: Patch): Patch {
  const easts = core.map(({ east }) => east).sort((a, b) => a - b);
  const middle = easts[Math.floor(easts.length / 2)] as number;
  return core.filter(({ east }) => east >= middle);
}

/** Tracks of one core, scan by scan in a shape of its own, that turns right by 5 degrees a scan at 45 km/h. */
function idsOnABend(shapeAt: (scan: number) => Patch): Set<string> {
  let [row, col] = [1500, 3500];
  const frames: TrackCell[][] = [];
  for (let scan = 0; scan < SCANS; scan++) {
    frames.push([patchCell(shapeAt(scan), Math.round(row), Math.round(col))]);
    const towards = ((45 + 5 * scan) * Math.PI) / 180;
    row -= (1.5 * Math.cos(towards)) / 1.11;
    col += (1.5 * Math.sin(towards)) / 0.86;
  }
  return new Set(follow(frames).flatMap(({ step }) => step.trackOfCell));
}

for (const [change, shapes] of [
  ['lose their western half', (core: Patch) => [core, eastHalf(core)]],
  ['gain a western half', (core: Patch) => [eastHalf(core), core]],
] as const)
  sharedTest(`nine in ten real cores on a bend that ${change} between two scans stay one track`, async (t) => {
    const all = await cores;
    t.true(all.length >= 6, `${all.length} cores`);
    const kept = all.filter((core) => {
      const [before, after] = shapes(core) as [Patch, Patch];
      return idsOnABend((scan) => (scan < CHANGE ? before : after)).size === 1;
    });
    t.log(`${kept.length} of ${all.length}`);
    t.true(kept.length >= 0.9 * all.length, `${kept.length} of ${all.length}`);
  });

sharedTest('a real core that vanishes while another rises a diameter beside it is two tracks', async (t) => {
  const all = await cores;
  for (const [k, core] of all.entries()) {
    const other = all[(k + 1) % all.length] as Patch;
    const width = (patch: Patch) =>
      Math.max(...patch.map(({ east }) => east)) - Math.min(...patch.map(({ east }) => east));
    const away = Math.ceil((width(core) + width(other)) / 2);
    const beside = other.map((pixel) => ({ ...pixel, east: pixel.east + away }));
    t.is(idsOnABend((scan) => (scan < CHANGE ? core : beside)).size, 2, `core ${k}`);
  }
});
