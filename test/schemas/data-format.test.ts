import test from 'ava';
import {
  DATA_FORMATS,
  formatFault,
  formatOfFiles,
  READ_FORMATS,
  tableFault,
  versionText,
  WRITTEN_FORMAT,
} from '../../schemas/data-format.ts';
import { RELEASE } from '../../schemas/release.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { dayMax } from '../../schemas/tables/radar.ts';

test('formats are numbered from 1 on without a gap', (t) => {
  t.deepEqual(
    DATA_FORMATS.map(({ format }) => format),
    DATA_FORMATS.map((_, at) => at + 1),
  );
});

for (const { name, schema_version } of TABLES)
  test(`the newest version of ${name} belongs to a data format`, (t) => {
    const newest = DATA_FORMATS.findLast(({ tables }) => tables[name] !== undefined);
    t.is(newest?.tables[name], schema_version, 'a new version of a table that readers know is a new data format');
  });

test('a release reads its own format and two before it', (t) => {
  t.deepEqual(READ_FORMATS, { from: Math.max(1, WRITTEN_FORMAT - 2), to: WRITTEN_FORMAT });
});

test('files need the first format that has their versions', (t) => {
  const file = (table: string | null, schema_version: number) => ({ table, schema_version });
  t.is(formatOfFiles([]), 1);
  t.is(formatOfFiles([file('detections', 2), file('day-max', 3), file(null, 3)]), 1);
  t.is(formatOfFiles([file('detections', 2), file('day-max', 4)]), 2);
  t.is(formatOfFiles([file('uncovered', 2)]), 2);
  t.is(formatOfFiles([file('a table that older readers pass over', 1)]), 1);
});

for (const [title, root, range, expected] of [
  ['without a format is the first', {}, { from: 1, to: 2 }, null],
  ['of the newest format is read', { format: 2 }, { from: 1, to: 2 }, null],
  [
    'of a newer format is refused',
    { format: 3 },
    { from: 1, to: 2 },
    `has data format 3, and hail-api ${RELEASE} reads 1 to 2: upgrade hail-api to the release that wrote the data or a newer one`,
  ],
  [
    'of a format before those that are read is refused',
    {},
    { from: 2, to: 4 },
    `has data format 1, and hail-api ${RELEASE} reads 2 to 4: make the data again with this release ('hail-pipeline rebuild')`,
  ],
  ...[0, -1, 1.5, 'two', null].map(
    (format) =>
      [
        `of format ${JSON.stringify(format)} is damaged`,
        { format },
        { from: 1, to: 2 },
        `has data format ${JSON.stringify(format)}, expected a whole number from 1: restore the file from a backup`,
      ] as const,
  ),
] as const)
  test(`a root ${title}`, (t) => t.is(formatFault(root, 'hail-api', range), expected));

test('a file of a newer version of its table is refused by name and range', (t) => {
  t.is(tableFault(dayMax, 4, 'hail-pipeline'), null);
  t.is(
    tableFault(dayMax, 9, 'hail-pipeline'),
    `has day-max schema version 9, and hail-pipeline ${RELEASE} reads 2 to 4: upgrade hail-pipeline to the release that wrote the data or a newer one`,
  );
});

test('--version names the release, then the data format', (t) => {
  t.is(versionText(true), `${RELEASE}\ndata format: writes 2, reads 1 to 2`);
  t.is(versionText(false), `${RELEASE}\ndata format: reads 1 to 2`);
});
