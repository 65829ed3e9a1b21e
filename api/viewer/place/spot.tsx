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

const NOTHING = { headline: 'Nothing is shown here', second: null, color: null, lines: [] };

/** Words for what the map draws at a place, with a storm or without; null while nothing is shown, or the place is not in view. */
export function wordsAt(at: LngLat, with_storm: boolean) {
  const map = theMap();
  const { drawn, view } = state;
  const found = drawn > 0 && map?.shows([{ lat: at.lat, lon: at.lng }]) ? map.sizeAt(at) : null;
  if (!map || !found) return null;
  const coarse = map.place().zoom < EXACT_FROM_ZOOM;
  const finding = with_storm ? found : { ...found, storm: null };
  return findingInWords(finding, { view, coarse, covered: map.isCovered(at) });
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
    popup.setPadding(covered());
    if (spot === null) popup.remove();
    else popup.setLngLat(spot);
    if (spot && map && !popup.isOpen()) popup.addTo(map.map);
  }, [map, spot]);
  return null;
}

function PickedCard({ at }: { at: LngLat }) {
  const { headline, second, color, lines } = wordsAt(at, true) ?? NOTHING;
  const paragraphs = (lines: readonly string[]) => lines.map((line) => <p key={line}>{line}</p>);
  const pin = () => {
    pinPlace(at);
    state.spot = null;
  };
  return (
    <div role="status">
      <p class="headline">
        {color && <Spot color={color} />}
        {headline}
      </p>
      <p>{second}</p>
      {paragraphs(lines)}
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
