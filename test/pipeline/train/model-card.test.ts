import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import { modelCard } from '../../../pipeline/train/model-card.ts';

const REFERENCE = resolve(import.meta.dirname, '../../../data/reference');
const CARD = `${REFERENCE}/model-card.md`;

type Card = Parameters<typeof modelCard>;

test('the card beside the weights says what their training would write today', (t) => {
  const card = readFileSync(CARD, 'utf8');
  const [, date = ''] = /on (\d{4}-\d{2}-\d{2}), together/.exec(card) ?? [];
  const weights: Card[0] & { training: Card[1] } = JSON.parse(readFileSync(`${REFERENCE}/hail-model.json`, 'utf8'));
  const { training, ...model } = weights;
  t.is(card, modelCard(model, training, date));
});
