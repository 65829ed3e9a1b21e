import test from 'ava';
import { scoresOf } from './nowcast-scores.ts';
import { leadTable, shown } from './nowcast-table.ts';
import { reliabilityDiagram } from './reliability-diagram.ts';

const came = Array.from({ length: 200 }, (_, n) => (n % 4 === 0 || n < 20 ? 1 : 0));
const said = came.map((value, n) => 0.1 + 0.3 * value + 0.004 * ((n * 37) % 100));
const rivals = Object.fromEntries(
  ['as published', 'not weighed', 'advection', 'persistence', 'base rate'].map((name) => [name, came.map(() => 0.3)]),
);
const scores = scoresOf({ block: came.map((_, n) => String(n % 12)), came, said, rivals });
const COLUMNS = [
  { name: 'simulated', scores, why: null, far: { cases: 7, said: 0.01, came: 0 } },
  { name: 'real hail', scores: null, why: 'the scans do not reach so far', far: { cases: 0, said: 0, came: 0 } },
];

test('the table of a lead has skill over advection and over persistence with intervals, and a slope with one', (t) => {
  const table = leadTable('t15', COLUMNS);
  for (const label of ['skill over advection', 'skill over persistence', 'slope from 0.02 on'])
    t.regex(table, new RegExp(`^    ${label} .*-?\\d\\.\\d+ \\[-?\\d\\.\\d\\d, -?\\d\\.\\d\\d\\]$`, 'm'));
});

test('the table of a lead names what is not scored, and why', (t) => {
  t.true(leadTable('t30', COLUMNS).includes('not scored on real hail: the scans do not reach so far'));
});

test('a lead that nothing can be scored on has no rows without figures', (t) => {
  t.is(leadTable('t45', COLUMNS.slice(1)), '  t45\n    not scored on real hail: the scans do not reach so far');
});

test('a figure that is not to be had is a dash', (t) => {
  t.is(shown({ value: Number.NaN, low: null, high: null }), '-');
  t.is(shown({ value: 0.5, low: null, high: null }), '0.500');
});

test('the diagram of a lead has a panel for each material and a dot for each bin', (t) => {
  const svg = reliabilityDiagram(15, COLUMNS);
  t.is(svg.match(/<g transform/g)?.length, 2);
  const legendDots = 1;
  t.is(svg.match(/<circle/g)?.length, legendDots + scores.bins.length);
  t.true(svg.includes('the scans do not reach so far') && svg.includes('next 15 minutes'));
});
