import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import weights from '../../../data/reference/hail-model.json' with { type: 'json' };
import { modelCard } from '../../../pipeline/train/model-card.ts';
import type { TrainingReport } from '../../../pipeline/train/train-model.ts';

const CARD = resolve(import.meta.dirname, '../../../data/reference/model-card.md');

test('the card beside the weights says what their training would write today', (t) => {
  const card = readFileSync(CARD, 'utf8');
  const [, date = ''] = /on (\d{4}-\d{2}-\d{2}), together/.exec(card) ?? [];
  const { training, ...model } = weights;
  t.is(card, modelCard(model, training as unknown as TrainingReport, date));
});
