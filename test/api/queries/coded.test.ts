import test from 'ava';
import fc from 'fast-check';
import { coder, tupleCoder } from '../../../api/queries/coded.ts';

/** Few values, so that rows come again, nulls among them, and sums that different rows share. */
const value = fc.constantFrom(Number.NaN, 0, 1, 2, 3, 0.1, 1e13);
const rows = fc.array(fc.tuple(value, value, value), { minLength: 1, maxLength: 60 });

test('columns that are coded together hold what each row held, piece by piece, and so does a column alone', (t) => {
  fc.assert(
    fc.property(fc.array(rows, { minLength: 1, maxLength: 4 }), (pieces) => {
      const [together, alone] = [tupleCoder(3), coder()];
      for (const piece of pieces) {
        const columns = [0, 1, 2].map((at) => Float64Array.from(piece, (row) => row[at] ?? Number.NaN));
        together.add(columns);
        alone.add(columns[0] ?? new Float64Array());
      }
      const all = pieces.flat();
      const made = together.done();
      t.deepEqual(
        all.map((_, index) => made.map(({ values, codeOf }) => values[codeOf(index)])),
        all.map((row) => [...row]),
      );
      const { values, codeOf } = alone.done();
      t.deepEqual(
        all.map((_, index) => values[codeOf(index)]),
        all.map(([first]) => first),
      );
    }),
    { numRuns: 100 },
  );
});

test('rows that come again take a byte for the row and nothing for each column', (t) => {
  const together = tupleCoder(4);
  const columns = [0, 1, 2, 3].map((at) => Float64Array.from({ length: 10_000 }, (_, row) => (row % 200) * 100 + at));
  together.add(columns);
  const bytes = together.done().reduce((sum, column) => sum + column.bytes, 0);
  t.true(bytes < 10_000 + 4 * 200 * 10, `${bytes} bytes`);
});
