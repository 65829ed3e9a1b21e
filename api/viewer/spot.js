import { Popup } from 'maplibre-gl';
import { findingInWords } from './pick.js';
import { placeInWords } from './words.js';

/** Tiles end at zoom 10; well below it their outlines are simplified by more than a pixel of the grid. */
const EXACT_FROM_ZOOM = 7;

/**
 * The place the reader asked about: a mark on the map, and a card with the size there that follows what is shown.
 * @param {Awaited<ReturnType<typeof import('./map.js').openMap>>} map
 * @param {import('./words.js').Palette} palette
 */
export function openSpot(map, palette) {
  const popup = new Popup({ closeOnClick: false, maxWidth: '260px', focusAfterOpen: false });
  /** @type {{ lng: number, lat: number } | null} */
  let at = null;
  popup.on('close', () => {
    at = null;
    map.mark(null);
  });
  /** @param {'day' | 'scan'} view */
  const tell = (view) => {
    if (at === null) return;
    const finding = map.sizeAt(at) ?? { mm_min: null, storm: null };
    const coarse = map.place().zoom < EXACT_FROM_ZOOM;
    popup
      .setLngLat(at)
      .setDOMContent(
        card(findingInWords(finding, { view, palette, coarse, covered: map.isCovered(at) }), placeInWords(at)),
      );
    if (!popup.isOpen()) popup.addTo(map.map);
  };
  return {
    /** @param {{ lng: number, lat: number }} place @param {'day' | 'scan'} view */
    pick({ lng, lat }, view) {
      at = { lng, lat };
      map.mark(at);
      tell(view);
    },
    /** Says again what is drawn there, after something else was drawn. */
    tell,
    close: () => popup.remove(),
  };
}

/** @param {ReturnType<typeof findingInWords>} told @param {string} place */
function card({ headline, second, color, lines }, place) {
  const title = paragraph(headline, 'headline');
  if (color) {
    const spot = document.createElement('span');
    spot.className = 'spot';
    spot.style.background = color;
    title.prepend(spot);
  }
  const box = document.createElement('div');
  box.setAttribute('role', 'status');
  box.append(title);
  if (second) box.append(paragraph(second, 'second'));
  box.append(...lines.map((line) => paragraph(line)), paragraph(place, 'fine'));
  return box;
}

/** @param {string} text @param {string} [className] */
function paragraph(text, className = '') {
  const made = document.createElement('p');
  made.textContent = text;
  made.className = className;
  return made;
}
