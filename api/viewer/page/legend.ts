import { element, textElement } from './page.ts';
import { REFLECTIVITY, SIZES, type SizeStep } from './palette.ts';
import { categoryInWords, inchesOfStep } from './words.ts';

/** Draws the fixed scale of sizes: every step with inches, mm and name. */
export function drawLegend(box: HTMLElement): void {
  const list = document.createElement('ol');
  list.append(...SIZES.map((step) => sizeItem(step)));
  list.id = 'legend-steps';
  box.replaceChildren(
    textElement('p', 'Estimated hail size, this much or more'),
    list,
    textElement('p', 'No radar coverage: not known', 'hatched'),
    element('legend-fold'),
  );
}

/** Draws the scale of reflectivity: every band, each second with its lower bound. */
export function drawReflectivityLegend(box: HTMLElement): void {
  const list = document.createElement('ol');
  list.className = 'ramp';
  for (const [index, { dbz_min, color }] of REFLECTIVITY.entries()) {
    const item = document.createElement('li');
    const swatch = document.createElement('span');
    swatch.style.background = color;
    item.append(swatch, index % 2 === 0 ? String(dbz_min) : '');
    list.append(item);
  }
  box.replaceChildren(list);
}

function sizeItem(step: SizeStep): HTMLElement {
  const item = document.createElement('li');
  item.className = step.category === null ? 'step small' : 'step';
  const swatch = textElement('span', `${inchesOfStep(step)} in`, 'swatch');
  swatch.style.background = step.color;
  swatch.style.color = step.ink;
  item.append(
    swatch,
    textElement('span', `${step.mm_min} mm`),
    textElement('span', categoryInWords(step.category) ?? 'scans', 'name'),
  );
  return item;
}
