import test from 'ava';
import { measureAcceptance } from '../../../pipeline/train/acceptance.ts';
import { formatRows, isAccepted } from '../../../pipeline/train/acceptance-table.ts';

for (const seed of [1, 5])
  test(`days, evenings and seasons of seed ${seed} look like hail to an expert`, (t) => {
    const parts = measureAcceptance(seed);
    for (const { title, rows } of parts) t.log(`${title}\n${formatRows(rows)}`);
    t.deepEqual(
      parts.flatMap(({ rows }) => rows.filter((row) => !isAccepted(row)).map((row) => `${row.what}: ${row.simulated}`)),
      [],
    );
  });
