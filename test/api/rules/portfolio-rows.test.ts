import test from 'ava';
import { csvRows } from '../../../api/rules/portfolio-csv.ts';
import { checkRow, csvColumns, isLocationRow, rowOfCsv, rowOfJson } from '../../../api/rules/portfolio-rows.ts';
import { REJECTIONS } from '../../../schemas/resources/portfolio-upload.ts';

const GOOD = { name: 'Depot', lat: 41.5, lon: -97.25 };

function checked(row: unknown) {
  return checkRow(rowOfJson(row), 7);
}

/** Checks every row of a CSV. */
function checkedCsv(text: string) {
  const [header, ...rows] = csvRows(text);
  if (header === undefined) throw new TypeError('the CSV is empty');
  const columns = csvColumns(header);
  if (typeof columns === 'string') throw new TypeError(columns);
  return rows.map((row, index) => checkRow(rowOfCsv(row, columns, header.cells.length), index));
}

test('a row needs a name and coordinates, no more', (t) => {
  t.deepEqual(checked(GOOD), { row_index: 7, id: null, ...GOOD, address: null, tags: null });
});

test('null in a JSON row means absent', (t) => {
  t.deepEqual(checked({ ...GOOD, id: null, address: null, tags: null }), checked(GOOD));
});

test('an empty address and an empty list of tags are given, not absent', (t) => {
  t.like(checked({ ...GOOD, address: '', tags: [] }), { address: '', tags: [] });
});

test('unknown fields are ignored', (t) => {
  t.deepEqual(checked({ ...GOOD, owner: 'x', lng: 3 }), checked(GOOD));
});

for (const [row, reason] of [
  [17, 'malformed_row: the row is 17, expected an object'],
  [null, 'malformed_row: the row is null, expected an object'],
  [[1], 'malformed_row: the row is a list, expected an object'],
  [{ ...GOOD, id: 5 }, 'malformed_row: id is 5, expected a text'],
  [{ ...GOOD, name: true }, 'malformed_row: name is true, expected a text'],
  [{ ...GOOD, address: {} }, 'malformed_row: address is an object, expected a text'],
  [{ lat: 41, lon: -97 }, 'missing_name: name is missing or blank'],
  [{ ...GOOD, name: ' \t ' }, 'missing_name: name is missing or blank'],
  [{ ...GOOD, name: 'x'.repeat(201) }, 'name_too_long: name is over 200 characters'],
  [{ name: 'a', lon: -97 }, 'invalid_coordinates: lat is missing'],
  [{ name: 'a', lat: 41, lng: -97 }, 'invalid_coordinates: lon is missing, use lon instead of lng'],
  [{ ...GOOD, lat: '41.5' }, "invalid_coordinates: lat is '41.5', expected a number from -90 to 90"],
  [{ ...GOOD, lat: 90.1 }, 'invalid_coordinates: lat is 90.1, expected a number from -90 to 90'],
  [{ ...GOOD, lon: -180.5 }, 'invalid_coordinates: lon is -180.5, expected a number from -180 to 180'],
  [{ ...GOOD, lon: [] }, 'invalid_coordinates: lon is a list, expected a number from -180 to 180'],
  [
    { name: 'a', lat: -97.25, lon: 41.5 },
    'invalid_coordinates: lat is -97.25, expected a number from -90 to 90, lat and lon look swapped',
  ],
  [{ name: 'a', lat: -80, lon: 41.5 }, 'outside_conus: lat is -80, expected 24 to 50, lat and lon look swapped'],
  [{ ...GOOD, lat: 50.001 }, 'outside_conus: lat is 50.001, expected 24 to 50'],
  [{ ...GOOD, lon: -65.999 }, 'outside_conus: lon is -65.999, expected -125 to -66'],
  [
    { ...GOOD, lon: 97.25 },
    'outside_conus: lon is 97.25, expected -125 to -66, longitudes west of Greenwich are negative',
  ],
  [{ ...GOOD, address: 'x'.repeat(501) }, 'address_too_long: address is over 500 characters'],
  [{ ...GOOD, tags: 'roof' }, "invalid_tags: tags are 'roof', expected a list of texts"],
  [{ ...GOOD, tags: ['a', 3] }, 'invalid_tags: tag 1 is 3, expected a text'],
  [{ ...GOOD, tags: ['a', ''] }, 'invalid_tags: tag 1 is empty'],
  [{ ...GOOD, tags: ['x'.repeat(65)] }, 'invalid_tags: tag 0 is over 64 characters'],
  [{ ...GOOD, tags: Array(21).fill('x') }, 'invalid_tags: there are 21 tags, expected at most 20'],
] as const)
  test(`rejects ${JSON.stringify(row).slice(0, 60)}: ${reason}`, (t) => {
    const verdict = checked(row);
    t.false(isLocationRow(verdict));
    t.like(verdict, { row_index: 7, reason });
    t.true(REJECTIONS.some((word) => reason.startsWith(`${word}: `)));
  });

test('the edges of CONUS belong to it', (t) => {
  for (const lat of [24, 50]) for (const lon of [-125, -66]) t.true(isLocationRow(checked({ name: 'a', lat, lon })));
});

test('limits count characters, not UTF-16 units', (t) => {
  t.true(isLocationRow(checked({ ...GOOD, name: '🏠'.repeat(200) })));
  t.false(isLocationRow(checked({ ...GOOD, name: '🏠'.repeat(201) })));
  t.true(isLocationRow(checked({ ...GOOD, address: 'x'.repeat(500), tags: Array(20).fill('é'.repeat(64)) })));
});

test('a rejected row carries the text found as its name, or null', (t) => {
  t.like(checked({ name: 'Barn' }), { name: 'Barn' });
  t.like(checked({ name: 9 }), { name: null });
  t.like(checked([]), { name: null });
});

test('columns of a CSV are found in any case and order, others are ignored', (t) => {
  t.deepEqual(checkedCsv('Owner,LON,Lat, NAME \nme,-97.25,41.5,Depot'), [{ ...checked(GOOD), row_index: 0 }]);
});

test('a column that a CSV lacks is absent, an empty cell is empty', (t) => {
  t.like(checkedCsv('name,lat,lon\nDepot,41.5,-97.25')[0], { id: null, address: null, tags: null });
  t.like(checkedCsv('id,name,lat,lon,address,tags\n,Depot,41.5,-97.25,,')[0], { id: null, address: '', tags: [] });
});

test('tags of a CSV cell are separated by vertical bars', (t) => {
  t.like(checkedCsv('name,lat,lon,tags\nDepot,41.5,-97.25,roof|flat, metal')[0], {
    reason: 'malformed_row: the row has 5 cells, expected 4',
  });
  t.like(checkedCsv('name,lat,lon,tags\nDepot,41.5,-97.25,"roof|flat, metal"')[0], { tags: ['roof', 'flat, metal'] });
});

for (const [row, reason] of [
  ['Depot,41.5', 'malformed_row: the row has 2 cells, expected 3'],
  ['Depot,41.5,-97,9', 'malformed_row: the row has 4 cells, expected 3'],
  ['De"pot,41.5,-97', 'malformed_row: a quote stands inside an unquoted cell'],
  ['Depot,,-97', 'invalid_coordinates: lat is missing'],
  ['Depot, 41.5,-97', "invalid_coordinates: lat is ' 41.5', expected a number from -90 to 90"],
  ['Depot,0x29,-97', "invalid_coordinates: lat is '0x29', expected a number from -90 to 90"],
  ['Depot,"41,5",-97', "invalid_coordinates: lat is '41,5', expected a number from -90 to 90"],
  ['Depot,NaN,-97', "invalid_coordinates: lat is 'NaN', expected a number from -90 to 90"],
  [',41.5,-97', 'missing_name: name is missing or blank'],
] as const)
  test(`rejects the CSV row ${row}: ${reason}`, (t) => {
    t.like(checkedCsv(`name,lat,lon\n${row}`)[0], { row_index: 0, reason });
  });

for (const [text, fault] of [
  ['na"me,lat,lon\n', 'has a malformed header row: a quote stands inside an unquoted cell'],
  ['lat,lon\n1,2', 'has no column name'],
  ['name,lon\n1,2', 'has no column lat'],
  ['name,lat,lng\n1,2,3', 'has no column lon, use lon instead of lng'],
  ['name,lat,lon,Lat\n1,2,3,4', 'has two columns named lat'],
] as const)
  test(`a CSV that begins ${JSON.stringify(text.slice(0, 20))} ${fault}`, (t) => {
    for (const header of csvRows(text).take(1)) t.is(csvColumns(header), fault);
  });
