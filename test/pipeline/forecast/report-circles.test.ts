import test from 'ava';
import { hailGivenStorm, stormProbability } from '../../../pipeline/forecast/hail-law.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { firstTable, readDocument, sectionOf } from '../../support/data/markdown.ts';
import { compositeHour, stormDays } from '../../support/data/real-hours.ts';
import {
  cellsNear,
  circlesOf,
  filledCircles,
  REPORTS_A_CIRCLE,
  usualCircles,
} from '../../support/data/report-circles.ts';
import { sharedTest } from '../../support/data/shared-data.ts';

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

test('the usual circles of all hours of a year are its reports, several to a circle', (t) => {
  const hours = Array.from({ length: 365 * 24 }, (_, k) => Date.UTC(2026, 0, 1, 1) + k * MS_PER_HOUR);
  const reports = REPORTS_A_CIRCLE * sum(hours.map(usualCircles));
  t.true(Math.abs(reports / 4654 - 1) < 0.02, `${reports}`);
});

test('a place fills one circle', (t) => {
  const circles = filledCircles(cellsNear([{ lat: 38, lon: -98 }]));
  t.true(Math.abs(circles - 1) < 0.15, `${circles}`);
});

test('fields of rising strength expect the circles that the page says, from none to those of an outbreak', (t) => {
  const section = sectionOf(readDocument('pipeline/SCIENCE.md'), '## Hourly forecast');
  const rows = firstTable(section.slice(section.indexOf('| storms |'))).map((row) => row.map(Number));
  t.is(rows.length, 6);
  for (const [storms = 0, reflectivity_dbz = 0, rotation = 0, hail_mm = 0, cape_j_kg = 0, ship = 0, printed] of rows) {
    const predictors = { reflectivity_dbz, updraft_helicity_m2_s2: rotation, hail_mm, cape_j_kg, ship };
    const circles = storms * (stormProbability(predictors) ?? Number.NaN) * hailGivenStorm(predictors);
    t.is(Number(circles.toFixed(circles < 10 ? 2 : circles < 20 ? 1 : 0)), printed);
  }
});

sharedTest('the composite of a July morning expects about one circle, not dozens', (t) => {
  const [{ circles } = { circles: Number.NaN }] = circlesOf([compositeHour()]);
  t.true(circles > 0.3 && circles < 1.5, `${circles}`);
});

sharedTest('twelve days of a 3 km model expect together what reports have, and less than radars saw', (t) => {
  const days = stormDays();
  t.is(days.length, 12);
  const found = days.flatMap(({ hours }) => circlesOf(hours));
  const expected = sum(found.map(({ circles }) => circles));
  const usual = sum(found.map(({ valid_time }) => usualCircles(valid_time)));
  const seen = sum(days.flatMap((day) => day.seen.map(filledCircles)));
  t.true(expected > 0.7 * usual && expected < 1.5 * usual, `${expected} ${usual}`);
  t.true(expected < seen, `${expected} ${seen}`);
});
