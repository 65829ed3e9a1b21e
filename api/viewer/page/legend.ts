import type { EchoColors } from '../views.ts';
import { element, textElement } from './page.ts';
import { categoryInWords, inchesOfStep, type Palette, type SizeStep } from './words.ts';

const ECHO_WORDS: Readonly<Record<EchoColors, string>> = {
  ours: 'from pale green at 20 dBZ to dark blue at 75 dBZ',
  classic: 'from green at 20 dBZ over yellow and red to violet and white at 75 dBZ',
};

/** Draws the fixed scale of sizes: every step with inches, mm and name. */
export function drawLegend(box: HTMLElement, palette: Palette): void {
  const list = document.createElement('ol');
  list.append(...palette.sizes.map((step) => sizeItem(step, palette)));
  list.id = 'legend-steps';
  box.replaceChildren(
    textElement('p', 'Estimated hail size, this much or more'),
    list,
    textElement('p', 'No radar coverage: not known', 'hatched'),
    element('legend-fold'),
  );
}

/** Draws the scale of reflectivity: every band, each second with its lower bound. */
export function drawReflectivityLegend(box: HTMLElement, { reflectivity }: Palette, echo: EchoColors): void {
  const list = document.createElement('ol');
  list.className = 'ramp';
  for (const [index, { dbz_min, color }] of reflectivity[echo].entries()) {
    const item = document.createElement('li');
    const swatch = document.createElement('span');
    swatch.style.background = color;
    item.append(swatch, index % 2 === 0 ? String(dbz_min) : '');
    list.append(item);
  }
  box.replaceChildren(list);
  box.setAttribute('aria-label', `Colours of reflectivity: ${ECHO_WORDS[echo]}`);
}

function sizeItem(step: SizeStep, palette: Palette): HTMLElement {
  const item = document.createElement('li');
  item.className = step.category === null ? 'step small' : 'step';
  const swatch = textElement('span', `${inchesOfStep(step, palette)} in`, 'swatch');
  swatch.style.background = step.color;
  swatch.style.color = step.ink;
  item.append(
    swatch,
    textElement('span', `${step.mm_min} mm`),
    textElement('span', categoryInWords(step.category) ?? 'scans', 'name'),
  );
  return item;
}
