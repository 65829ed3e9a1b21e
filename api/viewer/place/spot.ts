import { Popup } from 'maplibre-gl';
import type { LngLat, View } from '../data/day.ts';
import type { Facts } from '../layers/layer.ts';
import type { HailMap } from '../map/map.ts';
import { type FindingWords, findingInWords } from '../map/pick.ts';
import { button, textElement } from '../page/page.ts';
import { placeInWords } from '../page/words.ts';

/** Tiles end at zoom 10; well below it their outlines are simplified by more than a pixel of the grid. */
const EXACT_FROM_ZOOM = 7;

/** The place that the reader picked: a mark on the map, and a card with the size there, updated when the map changes. */
export function openSpot(map: HailMap, factsAt: (at: LngLat) => readonly Facts[]) {
  const popup = new Popup({ closeOnClick: false, maxWidth: '260px', focusAfterOpen: false });
  let at: LngLat | null = null;
  let pin: (at: LngLat) => void = () => {};
  popup.on('close', () => {
    at = null;
    map.mark(null);
  });
  const pinHere = () => {
    if (at) pin(at);
    popup.remove();
  };
  const update = (view: View): void => {
    if (at === null) return;
    const finding = map.sizeAt(at) ?? { mm_min: null, storm: null };
    const coarse = map.place().zoom < EXACT_FROM_ZOOM;
    const words = findingInWords(finding, { view, coarse, covered: map.isCovered(at) });
    popup.setLngLat(at).setDOMContent(card(words, factsAt(at), placeInWords(at), pinHere));
    if (!popup.isOpen()) popup.addTo(map.map);
  };
  return {
    pick({ lng, lat }: LngLat, view: View): void {
      at = { lng, lat };
      map.mark(at);
      update(view);
    },
    /** Rewrites the card after the map has drawn something else. */
    update,
    /** Closes the card; false where none is open. */
    close(): boolean {
      const wasOpen = popup.isOpen();
      popup.remove();
      return wasOpen;
    },
    /** Calls `act` with the place that the reader wants to pin. */
    onPin(act: (at: LngLat) => void): void {
      pin = act;
    },
  };
}

function card(
  { headline, second, color, lines }: FindingWords,
  facts: readonly Facts[],
  place: string,
  pin: () => void,
): HTMLElement {
  const title = textElement('p', headline, 'headline');
  if (color) {
    const swatch = textElement('span', '', 'spot');
    swatch.style.background = color;
    title.prepend(swatch);
  }
  const box = document.createElement('div');
  box.setAttribute('role', 'status');
  box.append(title);
  if (second) box.append(textElement('p', second, 'second'));
  box.append(...lines.map((line) => textElement('p', line)), ...facts.map(factsBlock), textElement('p', place, 'fine'));
  box.append(button('Pin this place', pin, 'pin-here'));
  return box;
}

/** Facts about an item of a layer at the place. */
function factsBlock({ title, color, lines }: Facts): HTMLElement {
  const block = document.createElement('div');
  block.className = 'facts';
  block.style.borderColor = color;
  block.append(textElement('p', title, 'facts-title'), ...lines.map((line) => textElement('p', line)));
  return block;
}
