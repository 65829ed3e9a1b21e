import test from 'ava';
import { columns, type Table } from '../../../schemas/columns.ts';
import { groundReports, spcOutlooks, warnings, watches } from '../../../schemas/tables/feeds.ts';

const FEEDS: readonly Table[] = [groundReports, warnings, watches, spcOutlooks];

for (const table of FEEDS)
  test(`every column of ${table.name} has a type and a description, and each row its provenance`, (t) => {
    const found = columns(table);
    t.deepEqual(
      found.filter(({ description }) => description === ''),
      [],
    );
    t.like(
      found.find(({ name }) => name === 'data_source'),
      { type: 'VARCHAR', nullable: false },
    );
    t.true(table.order.split(', ').every((name) => found.some((column) => column.name === name)));
  });
