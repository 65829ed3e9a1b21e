import { LngLatBounds } from 'maplibre-gl';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Drawn, Shape } from '../map/draw.ts';
import { mapOpened, service } from '../site.ts';
import { state } from '../state.ts';
import { BASEMAP, SIZES } from './palette.ts';
import { Button, Card, Field, focus, Say, sent, useAnswer } from './parts.tsx';

/** Limits and usual value of the interface. */
const RADIUS_KM = { min: 1, max: 100 };
const USUAL_SIZE_MM = 25;
const STEPS = SIZES.filter(({ name }) => name !== null).map(
  ({ mm_min, inches, name }) => [mm_min, `${inches} in (${mm_min} mm), ${name}`] as const,
);

/** What differs between the two shapes. */
const WORDS = {
  circle: {
    how: 'Press on the middle of the place, then on the edge of the circle. Escape starts again.',
    url: 'Address that events are sent to',
    price: 'Saving costs 2 credits.',
  },
  polygon: {
    how: 'Press on each corner, and on the first one again to finish. Escape starts again.',
    url: 'New webhook for its events (leave empty to use those you have)',
    price: 'Saving costs 3 credits, and a new webhook 2.',
  },
};
const START = 'You are sent an event when radar detects hail there, and when half an hour went by without any.';

/** Closes the card, and with it what was drawn. */
export function closeWatch(): void {
  state.watching = false;
  document.getElementById('open-watch')?.focus();
}

/** Draws a circle or an area on the map and saves it as an alert subscription or a monitored area. */
export function Watch() {
  return state.watching && <WatchCard />;
}

function WatchCard() {
  const [words, say] = useState(START);
  /** Another object whenever drawing begins. */
  const [asked, draw] = useState<{ readonly shape: Shape } | null>(null);
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  /** The address for which a webhook was made: should the area be refused, another attempt makes no second one. */
  const hook = useRef('');
  const { ask, busy, box } = useAnswer('watch-answer');

  const finish = (found: Drawn) => {
    const km = found.radius_km;
    say(km === undefined ? 'An area.' : `A circle with a radius of ${km.toFixed(1)} km.`);
    if (km === undefined || (km >= RADIUS_KM.min && km <= RADIUS_KM.max)) return setDrawn(found);
    say(`The radius was ${km.toFixed(1)} km; it may be ${RADIUS_KM.min} to ${RADIUS_KM.max} km. Draw it again.`);
    draw({ shape: 'circle' });
  };
  const begin = (shape: Shape) => {
    say(WORDS[shape].how);
    draw({ shape });
  };
  useEffect(() => {
    if (asked === null) return;
    state.drawing = true;
    const drawing = mapOpened.then(({ startDrawing }) => startDrawing(asked.shape, BASEMAP.ink, finish));
    return () => {
      state.drawing = false;
      void drawing.then((stop) => stop());
    };
  }, [asked]);
  const save = ({ ring, radius_km }: Drawn, { name, url, size_mm }: Record<string, string>) =>
    ask(async () => {
      if (radius_km !== undefined) {
        const { lat, lng } = ring.reduce((box, place) => box.extend(place), new LngLatBounds()).getCenter();
        const circle = { lat, lon: lng, radius_km: Number(radius_km.toFixed(1)) };
        const body = { name, ...circle, min_size_mm: Number(size_mm), webhook_url: url };
        setSecret((await service.call('/alerts/subscribe', body)).webhook_secret);
      } else {
        // The webhook first: an address that is refused leaves no area without a receiver.
        if (url !== '' && url !== hook.current) {
          setSecret((await service.call('/webhooks', { url })).secret);
          hook.current = url;
        }
        const geometry = { type: 'Polygon', coordinates: [ring] };
        await service.call('/areas', { kind: 'polygon', name, geometry });
      }
      say(`“${name}” is watched.`);
      setDrawn(null);
      // From now on escape closes the card, unless it would take the secret away.
      state.drawing = radius_km !== undefined || hook.current !== '';
      return null;
    });
  const { url, price } = WORDS[asked?.shape ?? 'circle'];
  const isCircle = drawn?.radius_km !== undefined;
  return (
    <Card id="watch" label="Watch a place for hail">
      <h2>Watch a place for hail</h2>
      <Say id="watch-words" aria-live="polite" words={words} />
      {asked === null && (
        <>
          <Button id="watch-circle" class="primary wide" ref={focus} onClick={() => begin('circle')}>
            Draw a circle
          </Button>
          <Button id="watch-polygon" class="primary wide" onClick={() => begin('polygon')}>
            Draw an area
          </Button>
        </>
      )}
      {drawn && (
        <form id="watch-form" onSubmit={(event) => void save(drawn, sent(event))}>
          <Field label="Name" id="watch-name" name="name" maxLength={100} required ref={focus} />
          {isCircle && <Field label="Alert from this size" name="size_mm" usual={USUAL_SIZE_MM} options={STEPS} />}
          <Field label={url} id="watch-url" name="url" type="url" maxLength={2048} required={isCircle} />
          <p class="fine price">{price}</p>
          {!isCircle && <p id="watch-least" class="fine" children="Hail of 25 mm or more counts." />}
          <Button class="primary wide" type="submit" disabled={busy} children="Save" />
        </form>
      )}
      {box}
      {secret && (
        <p id="watch-secret">
          Secret that the events are signed with, shown this once: <code id="watch-secret-text">{secret}</code>
        </p>
      )}
      <Button id="close-watch" class="link" disabled={busy} onClick={closeWatch} children="Close" />
    </Card>
  );
}
