import test from 'ava';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { CELL_LIMIT, CELLS_MAX, csvRows } from '../../../api/rules/portfolio-csv.ts';

/** Cells of every row; the fault stands in for the cells of a bad one. */
function read(text: string): (readonly string[] | string)[] {
  return [...csvRows(text)].map(({ cells, fault }) => fault ?? cells);
}

test('reads cells verbatim, spaces and formulas included', (t) => {
  t.deepEqual(read('name,lat\n  Depot ,=1+1\n@x,-97'), [
    ['name', 'lat'],
    ['  Depot ', '=1+1'],
    ['@x', '-97'],
  ]);
});

test('takes LF and CRLF, mixed, with or without one at the end', (t) => {
  for (const text of ['a,b\r\nc,d\n', 'a,b\nc,d', 'a,b\r\nc,d\r\n'])
    t.deepEqual(read(text), [
      ['a', 'b'],
      ['c', 'd'],
    ]);
});

test('a byte order mark at the start is no part of the first cell', (t) => {
  t.deepEqual(read('\uFEFFname,lat\n\uFEFFx,1'), [
    ['name', 'lat'],
    ['\uFEFFx', '1'],
  ]);
});

test('quoted cells hold commas, doubled quotes and line ends', (t) => {
  t.deepEqual(read('"a,1","say ""hi""","two\r\nlines",""\nx,y,z,'), [
    ['a,1', 'say "hi"', 'two\r\nlines', ''],
    ['x', 'y', 'z', ''],
  ]);
});

test('a lone carriage return is part of its cell', (t) => {
  t.deepEqual(read('a\rb,c\n'), [['a\rb', 'c']]);
});

test('empty lines are no rows', (t) => {
  t.deepEqual(read('\n\na,b\n\r\n\nc,d\n\n'), [
    ['a', 'b'],
    ['c', 'd'],
  ]);
  t.deepEqual(read(''), []);
  t.deepEqual(read('\uFEFF'), []);
});

for (const [what, line, fault] of [
  ['a quote inside an unquoted cell', 'Joe "Red" Barn,41', 'a quote stands inside an unquoted cell'],
  ['text behind a closing quote', '"Barn" north,41', 'text stands behind a closing quote'],
] as const)
  test(`${what} spoils its row and none behind it`, (t) => {
    t.deepEqual(read(`name,lat\r\n${line}\r\ngood,42`), [['name', 'lat'], fault, ['good', '42']]);
  });

test('a quote that is never closed spoils the rest', (t) => {
  t.deepEqual(read('name,lat\n"open,41\nnext,42'), [['name', 'lat'], 'a quote is never closed']);
});

test('the cells before a fault are kept, to name the row', (t) => {
  t.deepEqual([...csvRows('loc_1,Depot,"x"y,3')][0]?.cells, ['loc_1', 'Depot']);
});

test('a cell may be as long as the limit and no longer', (t) => {
  const fits = 'x'.repeat(CELL_LIMIT);
  t.deepEqual(read(`${fits},1\n"${fits}",1\n${fits}x,2\n"${fits}x",3\nok,4`), [
    [fits, '1'],
    [fits, '1'],
    'a cell is over 65536 characters',
    'a cell is over 65536 characters',
    ['ok', '4'],
  ]);
});

test('a row may have as many cells as the limit and no more', (t) => {
  const commas = ','.repeat(CELLS_MAX - 1);
  t.deepEqual(read(`${commas}\n${commas},\nok`), [Array(CELLS_MAX).fill(''), 'the row has over 1000 cells', ['ok']]);
});

// In more than linear time these would take hours; how long they do take is the bench's to say.
for (const [what, unit] of [
  ['quotes in an unquoted cell', (n: number) => `a${'"'.repeat(n)}`],
  ['doubled quotes', (n: number) => `"${'""'.repeat(n / 2)}"`],
  ['quotes and letters', (n: number) => '"a'.repeat(n / 2)],
  ['lines of one quote', (n: number) => '"\n'.repeat(n / 2)],
  ['lines of an odd quote', (n: number) => 'a"\n'.repeat(n / 3)],
  ['commas', (n: number) => ','.repeat(n)],
  ['carriage returns', (n: number) => '\r'.repeat(n)],
  ['empty lines', (n: number) => '\n'.repeat(n)],
] as const)
  test(`5 MB of ${what} are read to their end`, (t) => {
    t.true([...csvRows(unit(5_000_000))].every((row) => Array.isArray(row.cells) || row.fault !== null));
  });

const cell = fc.string({ unit: fc.constantFrom('a', 'ß', '😀', ' ', ',', '"', '\n', '\r\n', '|', '='), maxLength: 8 });
const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 6 });

test('what was quoted is read back, as csv-parse reads it too', (t) => {
  fc.assert(
    fc.property(table, fc.constantFrom('\n', '\r\n'), (rows, end) => {
      const text = rows.map((row) => row.map((one) => `"${one.replaceAll('"', '""')}"`).join(',')).join(end);
      t.deepEqual(read(text), rows);
      t.deepEqual(read(text), parse(text, { relax_column_count: true, record_delimiter: ['\r\n', '\n'] }));
    }),
  );
});

test('any text gives rows that end, whatever is wrong with it', (t) => {
  const text = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r'), maxLength: 60 });
  fc.assert(
    fc.property(text, (given) => {
      const lines = given.split(/\r?\n/).filter((line) => line !== '').length;
      t.true([...csvRows(given)].length <= Math.max(lines, 1));
    }),
  );
});
