import { Popup } from 'maplibre-gl';
import { render } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { LngLat } from '../data/day.ts';
import { covered, pinPlace } from '../display.ts';
import { factsAt } from '../layers/card.tsx';
import { findingInWords } from '../map/pick.ts';
import { Button, Spot } from '../page/parts.tsx';
import { placeInWords } from '../page/words.ts';
import { is_embedded, theMap } from '../site.ts';
import { change, state } from '../state.ts';

/** Tiles end at zoom 10; well below it their outlines are simplified by more than a pixel of the grid. */
const EXACT_FROM_ZOOM = 7;

/** What the map draws at a place, and what its words depend on; null while nothing is shown. */
export function findingAt(at: LngLat) {
  const map = theMap();
  const { drawn, view } = state;
  const finding = drawn > 0 ? map?.sizeAt(at) : null;
  if (!map || !finding) return null;
  const coarse = map.place().zoom < EXACT_FROM_ZOOM;
  return { finding, context: { view, coarse, covered: map.isCovered(at) } };
}

const popup = new Popup({ closeOnClick: false, maxWidth: '260px', focusAfterOpen: false });
const box = document.createElement('div');
popup.setDOMContent(box).on('close', () => change({ spot: null }));

/** The place that the reader picked: a mark on the map, and a card with the size there, which follows what the map shows. */
export function Picked() {
  const { spot } = state;
  const map = theMap();
  useLayoutEffect(() => {
    render(spot && <PickedCard at={spot} />, box);
    map?.mark(spot);
    popup.setPadding({ ...covered(), left: 0, right: 0 });
    if (spot === null) popup.remove();
    else popup.setLngLat(spot);
    if (spot && map && !popup.isOpen()) popup.addTo(map.map);
  }, [map, spot]);
  return null;
}

function PickedCard({ at }: { at: LngLat }) {
  const found = findingAt(at);
  const nothing = { view: state.view, coarse: false, covered: null };
  const words = findingInWords(found?.finding ?? { mm_min: null, storm: null }, found?.context ?? nothing);
  const paragraphs = (lines: readonly string[]) => lines.map((line) => <p key={line}>{line}</p>);
  const pin = () => {
    pinPlace(at);
    state.spot = null;
  };
  return (
    <div role="status">
      <p class="headline">
        {words.color && <Spot color={words.color} />}
        {words.headline}
      </p>
      <p>{words.second}</p>
      {paragraphs(words.lines)}
      {factsAt(at).map(({ title, color, said }) => (
        <div key={title + said} class="facts" style={{ borderColor: color }}>
          <p class="facts-title">{title}</p>
          {paragraphs(said.split('\n'))}
        </div>
      ))}
      <p class="fine">{placeInWords(at)}</p>
      {!is_embedded && <Button class="wide pin-here" onClick={pin} children="Pin this place for what radar saw" />}
    </div>
  );
}
