import { useEffect, useRef, useState } from 'preact/hooks';
import { ServiceError } from '../data/service.ts';
import { type Drawing, type Drawn, middleOf, type Shape, startDrawing } from '../map/draw.ts';
import { askForKey, mapOpened, service } from '../site.ts';
import { state } from '../state.ts';
import { BASEMAP, SIZES } from './palette.ts';
import { Button, Card, Choice, Field, focus, Say } from './parts.tsx';
import { categoryInWords, inchesOfStep } from './words.ts';

/** Limits and usual value of the interface. */
const RADIUS_KM = { min: 1, max: 100 };
const USUAL_SIZE_MM = 25;
const DECIMALS = 5;
const STEPS = SIZES.filter(({ category }) => category !== null).map(
  (step) => [step.mm_min, `${inchesOfStep(step)} in (${step.mm_min} mm), ${categoryInWords(step.category)}`] as const,
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

/** Nothing is drawn in the card, and no secret is shown in it: escape closes it. */
let isIdle = true;

/** Closes the card while nothing in it would be lost. */
export function closeIdleWatch(): void {
  if (isIdle && state.watching > 0) close();
}

function close(): void {
  state.watching = 0;
  document.getElementById('open-watch')?.focus();
}

/** Draws a circle or an area on the map and saves it as an alert subscription or a monitored area. */
export function Watch() {
  return state.watching > 0 && <WatchCard key={state.watching} />;
}

function WatchCard() {
  const [shape, setShape] = useState<Shape | null>(null);
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [saved, setSaved] = useState<string | null>(null);
  const [size_mm, setSize] = useState(USUAL_SIZE_MM);
  /** The address for which a webhook was made: should the area be refused, another attempt makes no second one. */
  const hook = useRef('');
  const drawing = useRef<Promise<Drawing> | null>(null);
  isIdle = shape === null || (saved !== null && secret === null);

  const stop = () => {
    void drawing.current?.then((one) => one.remove());
    state.drawing = false;
  };
  useEffect(() => stop, []);
  const begin = (chosen: Shape) => {
    stop();
    setShape(chosen);
    setTrouble(null);
    state.drawing = true;
    drawing.current = mapOpened.then(({ map }) => startDrawing(map, chosen, BASEMAP.ink, finish));
  };
  const finish = (found: Drawn) => {
    const km = found.radius_km ?? 0;
    if (found.shape === 'polygon' || (km >= RADIUS_KM.min && km <= RADIUS_KM.max)) return setDrawn(found);
    begin(found.shape);
    setTrouble(`The radius was ${km.toFixed(1)} km; a circle has a radius of ${RADIUS_KM.min} to ${RADIUS_KM.max} km.`);
  };
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    if (drawn === null) return;
    const form = Object.fromEntries(new FormData(event.currentTarget as HTMLFormElement)) as Record<string, string>;
    state.saving = true;
    setTrouble(null);
    try {
      if (drawn.shape === 'circle') setSecret(await subscribe(drawn, form));
      else {
        // The webhook first: an address that is refused leaves no area without a receiver.
        if (form.url !== hook.current) setSecret((await service.call('/webhooks', { body: { url: form.url } })).secret);
        hook.current = form.url;
        const geometry = { type: 'Polygon', coordinates: [drawn.ring] };
        await service.call('/areas', { body: { kind: 'polygon', name: form.name.trim(), geometry } });
      }
      setSaved(form.name.trim());
      state.drawing = false;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      setTrouble(error.message);
      if (error.needs_key) askForKey();
    } finally {
      state.saving = false;
    }
  };
  const isCircle = shape === 'circle';
  const made = isCircle ? `A circle with a radius of ${drawn?.radius_km?.toFixed(1)} km.` : 'An area.';
  const words = shape === null ? START : drawn === null ? WORDS[shape].how : made;
  return (
    <Card id="watch" label="Watch a place for hail">
      <h2>Watch a place for hail</h2>
      <p id="watch-words" aria-live="polite">
        {saved === null ? words : `“${saved}” is watched.`}
      </p>
      {shape === null ? (
        <div class="row">
          <Button
            id="watch-circle"
            class="primary wide"
            ref={focus}
            onClick={() => begin('circle')}
            children="Draw a circle"
          />
          <Button id="watch-polygon" class="primary wide" onClick={() => begin('polygon')} children="Draw an area" />
        </div>
      ) : (
        drawn !== null &&
        saved === null && (
          <form id="watch-form" onSubmit={save}>
            <Field label="Name" id="watch-name" name="name" maxLength={100} required ref={focus} />
            {isCircle && (
              <Choice label="Alert from this size" name="size_mm" value={size_mm} set={setSize} options={STEPS} />
            )}
            <Field label={WORDS[shape].url} id="watch-url" name="url" type="url" maxLength={2048} required={isCircle} />
            <p class="fine price">{WORDS[shape].price}</p>
            <Say id="watch-least" class="fine" words={!isCircle && 'Hail of 25 mm or more counts.'} />
            <Button class="primary wide" type="submit" disabled={state.saving} children="Save" />
          </form>
        )
      )}
      <Say id="watch-trouble" class="refused" role="alert" words={trouble} />
      {secret !== null && (
        <p id="watch-secret">
          Secret that the events are signed with, shown this once: <code id="watch-secret-text">{secret}</code>
        </p>
      )}
      <Button id="close-watch" class="link" disabled={state.saving} onClick={close} children="Close" />
    </Card>
  );
}

/** Saves a circle; the secret of its events. */
async function subscribe({ ring, radius_km }: Drawn, form: Record<string, string>): Promise<string> {
  const { lat, lon } = middleOf(ring);
  const body = {
    name: form.name.trim(),
    lat: Number(lat.toFixed(DECIMALS)),
    lon: Number(lon.toFixed(DECIMALS)),
    radius_km: Number(radius_km?.toFixed(1)),
    min_size_mm: Number(form.size_mm),
    webhook_url: form.url,
  };
  return (await service.call('/alerts/subscribe', { body })).webhook_secret;
}
