import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { BadInput } from '../../../pipeline/error.ts';
import { readAlerts } from '../../../pipeline/read/alerts.ts';
import { readOutlookGeoJson } from '../../../pipeline/read/outlooks.ts';
import { readLsrGeoJson, readSpcReports } from '../../../pipeline/read/reports.ts';
import { readDiscussion, readWatch } from '../../../pipeline/read/watches.ts';
import { GroundReport, SpcOutlook, Warning, Watch } from '../../../schemas/tables/feeds.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const NOW = Date.parse('2026-11-22T00:00:00Z');
const FileReportRow = GroundReport.omit({ storm_date: true, received_at: true, withdrawn_at: true, is_current: true });

/** Readers with a real file each, and a check that their rows fit the table. */
const READERS: readonly (readonly [file: readonly string[], read: (bytes: Buffer) => void])[] = [
  [
    ['reports', 'spc', '0530_hail.csv'],
    (bytes) => {
      const options = { convective_date: '2013-05-30', list: 'filtered', now_ms: NOW } as const;
      for (const row of readSpcReports(bytes, 'x', options).rows) FileReportRow.parse(row);
    },
  ],
  [
    ['reports', 'lsr', 'iem_lsrs_by_point_20250605_trimmed.geojson'],
    (bytes) => {
      for (const row of readLsrGeoJson(bytes, 'x', NOW).rows) FileReportRow.parse(row);
    },
  ],
  [
    ['warnings', 'alerts', 'two_real_SVR_with_hail_2023.geojson'],
    (bytes) => {
      for (const row of readAlerts(bytes, 'x', NOW).rows) Warning.parse(row);
    },
  ],
  [
    ['warnings', 'watches', 'SAW3.txt'],
    (bytes) => void Watch.parse(readWatch(bytes, 'x', Date.parse('2021-07-10T04:00:00Z')).row),
  ],
  [['warnings', 'discussions', 'SWOMCD_tags.txt'], (bytes) => void Watch.parse(readDiscussion(bytes, 'x', NOW).row)],
  [
    ['outlooks', 'spc_day1_cat_20250605_2000z_ENH_only.geojson'],
    (bytes) => {
      for (const row of readOutlookGeoJson(bytes, 'x', { day: 1, hazard: 'categorical', part: 'all' }, NOW).rows)
        SpcOutlook.parse(row);
    },
  ],
];

/** Bytes cut, changed or doubled at random places. */
function damage(bytes: Buffer, changes: readonly (readonly [share: number, kind: number, byte: number])[]): Buffer {
  return changes.reduce((damaged, [share, kind, byte]) => {
    const i = Math.floor(share * damaged.length);
    const [before, after] = [damaged.subarray(0, i), damaged.subarray(i)];
    if (kind === 0) return before;
    if (kind === 1) return Buffer.concat([before, after.subarray(1)]);
    if (kind === 2) return Buffer.concat([before, Buffer.from([byte]), after]);
    if (kind === 3) return Buffer.concat([before, Buffer.from([byte]), after.subarray(1)]);
    return Buffer.concat([before, damaged.subarray(Math.max(0, i - byte)), after]);
  }, bytes);
}

const changes = fc.array(
  fc.tuple(
    fc.double({ min: 0, max: 0.9999, noNaN: true }),
    fc.constantFrom(0, 1, 2, 3, 3, 3, 4),
    fc.integer({ min: 0, max: 255 }),
  ),
  { minLength: 1, maxLength: 6 },
);

for (const [file, read] of READERS)
  sharedTest(`damage to ${file.at(-1)} is refused or gives rows that fit their table`, (t) => {
    const bytes = readFileSync(sharedData(...file));
    t.notThrows(() => read(bytes));
    fc.assert(
      fc.property(changes, (made) => {
        try {
          read(damage(bytes, made));
        } catch (error) {
          if (!(error instanceof BadInput)) throw error;
        }
      }),
      { numRuns: 150 },
    );
  });
