import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { PROJECT } from '../../support/data/markdown.ts';
import { fitHailModel } from './hail-model.ts';
import fixture from './logistic.fixture.json' with { type: 'json' };
import { fitLogistic } from './logistic.ts';

const REFERENCE = join(PROJECT, 'data/reference');
const { rows, targets, weights, fits } = fixture;

for (const [ridge, expected] of Object.entries(fits))
  test(`with a ridge of ${ridge} the coefficients are those of a general minimiser`, (t) => {
    const fit = fitLogistic(rows, targets, weights, Number(ridge));
    [fit.intercept, ...fit.weights].forEach((value, n) => {
      t.true(Math.abs(value - expected[n]) < 1e-6, `coefficient ${n}`);
    });
  });

test('the stored cases give the published weights byte for byte, and the card names both', (t) => {
  const { text, report } = fitHailModel();
  t.is(text, readFileSync(join(REFERENCE, 'hail-model.json'), 'utf8'));
  const card = readFileSync(join(REFERENCE, 'model-card.md'), 'utf8');
  t.true(card.includes(`# Model card: ${report.version}\n`));
  t.true(card.includes(report.training_sha256));
});
