import test from 'ava';
import { placeLabels } from '../../../pipeline/picture/labels.ts';

const AREA = { x: 0, y: 0, width: 200, height: 100 };
const wish = (x: number, y: number, text: string) => ({ x, y, width: 40, height: 12, text, gap: 9 });

test('a label stands to the right of its point', (t) => {
  t.deepEqual(placeLabels([wish(50, 50, 'a')], AREA, []), [{ x: 59, y: 44, width: 40, height: 12, text: 'a' }]);
});

test('at the right edge it stands to the left', (t) => {
  t.deepEqual(placeLabels([wish(180, 50, 'a')], AREA, []), [{ x: 131, y: 44, width: 40, height: 12, text: 'a' }]);
});

test('the second of two close labels gives way', (t) => {
  const [a, b] = placeLabels([wish(50, 50, 'a'), wish(52, 52, 'b')], AREA, []);
  t.is(a?.x, 59);
  t.is(b?.x, 3);
});

test('an obstacle is kept free', (t) => {
  const [a] = placeLabels([wish(60, 50, 'a')], AREA, [{ x: 65, y: 40, width: 60, height: 20 }]);
  t.is(a?.x, 11, 'left of its point');
});

test('a label without room is left out', (t) => {
  t.deepEqual(placeLabels([wish(50, 50, 'a')], AREA, [AREA]), []);
});
