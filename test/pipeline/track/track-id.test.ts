import test from 'ava';
import { trackId } from '../../../pipeline/track/track-id.ts';

const SCAN = Date.parse('2024-02-28T23:59:39Z');

test('an id is the UTC date of the first scan and a base36 hash', (t) => {
  t.regex(trackId(SCAN, 0), /^20240228-[0-9a-z]{1,13}$/);
  t.regex(trackId(SCAN + 60_000, 0), /^20240229-/);
});

test('an id has the form the interface asks for', (t) => {
  for (let cell = 0; cell < 1000; cell++) t.regex(trackId(SCAN + cell * 117_001, cell), /^[A-Za-z0-9_-]{1,64}$/);
});

test('the same beginning gives the same id', (t) => {
  t.is(trackId(SCAN, 17), trackId(SCAN, 17));
});

test('two beginnings of a day never share an id: scans, cells and parts of a cell', (t) => {
  const ids = new Set<string>();
  for (let scan = 0; scan < 100; scan++)
    for (let cell = 0; cell < 50; cell++)
      for (let part = 0; part < 4; part++) ids.add(trackId(SCAN - scan * 120_000, cell, part));
  t.is(ids.size, 100 * 50 * 4);
});
