import { readFileSync } from 'node:fs';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { parseLsrText, readLsrText } from '../../../pipeline/read/lsr-text.ts';
import { feedFigures, minuteOf } from '../../support/data/feed-figures.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const NOW = Date.parse('2024-05-02T00:00:00Z');

/** A product with the columns of the real ones. */
function product(...reports: string[]): Buffer {
  return Buffer.from(
    `128
NWUS54 KOUN 012113
LSROUN

Preliminary Local Storm Report
National Weather Service Norman OK
413 PM CDT Wed May 1 2024

..TIME...   ...EVENT...      ...CITY LOCATION...     ...LAT.LON...
..DATE...   ....MAG....      ..COUNTY LOCATION..ST.. ...SOURCE....
            ..REMARKS..

${reports.join('\n\n')}

&&

$$
`,
  );
}

const HAIL = `0915 AM     Hail             4 E Wapanucka           34.37N 96.36W
05/01/2024  M1.25 Inch       Atoka              OK   Emergency Mngr

            Delayed report. Relayed images. Radar
            estimated time.`;

for (const name of ['LSRFSD.txt', 'LSRICT_mixed.txt', 'LSRJAX_marinehail.txt', 'LSROUN_hail.txt'])
  sharedTest(`${name} gives the office, zone, times, places and sizes read by others`, (t) => {
    const figures = feedFigures().reports.lsr[name]!;
    const bytes = readFileSync(sharedData('reports', 'lsr', name));
    const { office, zone, issued_ms, entries, set_aside } = parseLsrText(bytes, name);
    t.deepEqual([office, zone, minuteOf(issued_ms)], [figures.wfo, figures.tz, figures.issued_utc]);
    t.deepEqual(set_aside, []);
    t.deepEqual(
      entries.map((entry) => ({
        utc: minuteOf(entry.time_ms),
        event: entry.event,
        location: entry.place,
        lat: entry.lat,
        lon: entry.lon,
        magnitude_text: entry.magnitude || null,
        county: entry.county,
        state: entry.state,
        source: entry.observer,
      })),
      figures.reports.map(
        ({ magnitude: _, qualifier: __, unit: ___, ...report }: Record<string, unknown>) => report,
      ) as never,
    );
    const hail = figures.reports.filter(({ event }) => event.toUpperCase() === 'HAIL');
    const { rows, others } = readLsrText(bytes, name, NOW);
    t.deepEqual(
      rows.map(({ size_mm, is_measured }) => [size_mm, is_measured]),
      hail.map(({ magnitude, qualifier }) => [magnitude! * 25.4, qualifier === 'M']),
    );
    t.is(
      [...others.values()].reduce((sum, n) => sum + n, 0),
      figures.reports.length - hail.length,
    );
  });

sharedTest('the correction of Sioux Falls calls itself one, the report of Norman does not', (t) => {
  const isCorrection = (name: string) =>
    parseLsrText(readFileSync(sharedData('reports', 'lsr', name)), name).is_correction;
  t.true(isCorrection('LSRFSD.txt'));
  t.false(isCorrection('LSROUN_hail.txt'));
});

test('a report has the identifier that the Iowa archive gives its product', (t) => {
  const { rows, set_aside } = readLsrText(product(HAIL), 'x', NOW);
  t.deepEqual(set_aside, []);
  t.is(rows[0]?.product_id, '202405012113-KOUN-NWUS54-LSROUN');
  t.is(rows[0]?.report_id, 'lsr:OUN:2024-05-01T14:15:00Z:34.370,-96.360');
  t.is(rows[0]?.remark, 'Delayed report. Relayed images. Radar estimated time.');
  t.is(rows[0]?.is_measured, true);
});

for (const head of ['..TIME..   ...EVENT...', '...TIME...   ..EVENT..', 'TIME        EVENT', '.TIME.    ....EVENT....'])
  test(`reports below '${head}' are read: the words say where they begin, not the dots`, (t) => {
    const text = product(HAIL).toString();
    const other = text.replace('..TIME...   ...EVENT...', head);
    t.deepEqual(readLsrText(Buffer.from(other), 'x', NOW), readLsrText(product(HAIL), 'x', NOW));
  });

for (const [title, text] of [
  ['below whose columns nothing stands', product('')],
  ['without its head of columns', Buffer.from(product(HAIL).toString().replace('..TIME...   ...EVENT...', ''))],
] as const)
  test(`a text of reports ${title} is refused, not read as no reports`, (t) => {
    t.throws(() => readLsrText(text, 'x', NOW), { instanceOf: BadInput, message: /x: no report, expected lines/ });
  });

test('a time after midnight UTC and an event of the day before keep their own dates', (t) => {
  const late = HAIL.replace('0915 AM', '1159 PM').replace('05/01/2024', '04/30/2024');
  t.is(minuteOf(readLsrText(product(late), 'x', NOW).rows[0]!.time), '2024-05-01T04:59Z');
  const noon = HAIL.replace('0915 AM', '1200 PM');
  t.is(minuteOf(readLsrText(product(noon), 'x', NOW).rows[0]!.time), '2024-05-01T17:00Z');
  const midnight = HAIL.replace('0915 AM', '1200 AM');
  t.is(minuteOf(readLsrText(product(midnight), 'x', NOW).rows[0]!.time), '2024-05-01T05:00Z');
});

for (const [title, from, to, reason] of [
  ['a clock of 13 PM', '0915 AM', '1315 PM', "time is '1315 PM 05/01/2024', expected HHMM AM or PM over MM/DD/YYYY"],
  [
    'a day that does not exist',
    '05/01/2024',
    '02/30/2024',
    "time is '0915 AM 02/30/2024', expected HHMM AM or PM over MM/DD/YYYY",
  ],
  ['no position', '34.37N 96.36W', '', "position is '', expected such as 38.89N 98.85W"],
  ['no size', 'M1.25 Inch ', '           ', "size is '', expected such as E1.00 INCH, up to 10"],
  ['an impossible size', 'M1.25 Inch', 'E25.0 Inch', "size is 'E25.0 Inch', expected such as E1.00 INCH, up to 10"],
] as const)
  test(`hail with ${title} is set aside, the report after it is kept`, (t) => {
    const { rows, set_aside } = readLsrText(product(HAIL.replace(from, to), HAIL), 'x', NOW);
    t.is(rows.length, 1);
    t.deepEqual(set_aside, [{ item: 'line 13', reason }]);
  });

test('the zone of the issue line decides, and one that is not known refuses the product', (t) => {
  const mountain = Buffer.from(product(HAIL).toString().replace('CDT', 'MDT'));
  t.is(minuteOf(readLsrText(mountain, 'x', NOW).rows[0]!.time), '2024-05-01T15:15Z');
  const unknown = Buffer.from(product(HAIL).toString().replace('CDT', 'XXT'));
  t.throws(() => readLsrText(unknown, 'x', NOW), { instanceOf: BadInput, message: /time zone/ });
});

test('a remark that corrects names the place of what it corrects', (t) => {
  const remark = HAIL.replace('Delayed report.', 'Corrects previous hail report from 5 E Wapanucka.');
  const { rows } = readLsrText(product(remark), 'x', NOW);
  t.is(rows[0]?.is_correction, true);
  t.is(rows[0]?.corrects_place, '5 E Wapanucka');
});

for (const [title, text] of [
  ['an error page', '<html><body>no such product</body></html>'],
  ['another product', '000\nWUUS54 KOUN 070521\nSVROUN\n\nSEVERE THUNDERSTORM WARNING\n'],
  ['nothing', ''],
] as const)
  test(`${title} instead of a text of reports is refused as a whole`, (t) => {
    t.throws(() => readLsrText(Buffer.from(text), 'x', NOW), { instanceOf: BadInput });
  });
