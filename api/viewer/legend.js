import { categoryInWords, inchesOfStep } from './words.js';

/**
 * The fixed scale: every step with inches, mm and name, whatever is on the map.
 * @param {HTMLElement} element
 * @param {import('./words.js').Palette} palette
 */
export function drawLegend(element, palette) {
  const title = document.createElement('p');
  title.textContent = 'Estimated hail size, this much or more';
  const list = document.createElement('ol');
  list.append(...palette.sizes.map((step) => swatch(step, palette)));
  const hatched = document.createElement('p');
  hatched.className = 'hatched';
  hatched.textContent = 'No radar coverage: not known';
  element.replaceChildren(title, list, hatched);
}

/**
 * The scale of reflectivity: every band, each second with its lower bound.
 * @param {HTMLElement} element
 * @param {import('./words.js').Palette} palette
 */
export function drawReflectivityLegend(element, { reflectivity }) {
  const list = document.createElement('ol');
  list.className = 'ramp';
  list.append(
    ...reflectivity.map(({ dbz_min, color }, index) => {
      const item = document.createElement('li');
      const swatch = document.createElement('span');
      swatch.style.background = color;
      item.append(swatch, index % 2 === 0 ? String(dbz_min) : '');
      return item;
    }),
  );
  element.replaceChildren(list);
}

/** @param {import('./words.js').SizeStep} step @param {import('./words.js').Palette} palette */
function swatch(step, palette) {
  const item = document.createElement('li');
  item.className = step.category === null ? 'step small' : 'step';
  const color = document.createElement('span');
  color.className = 'swatch';
  color.style.background = step.color;
  color.style.color = step.ink;
  color.textContent = `${inchesOfStep(step, palette)} in`;
  const mm = document.createElement('span');
  mm.textContent = `${step.mm_min} mm`;
  const name = document.createElement('span');
  name.className = 'name';
  name.textContent = categoryInWords(step.category) ?? 'scans';
  item.append(color, mm, name);
  return item;
}
