import { type Service, ServiceError } from '../data/service.ts';
import { type Drawing, type Drawn, middleOf, type Shape, startDrawing } from '../map/draw.ts';
import type { HailMap } from '../map/map.ts';
import type { State } from '../state.ts';
import { element, onClick } from './page.ts';
import { BASEMAP, SIZES } from './palette.ts';
import { inchesOfStep } from './words.ts';

/** Limits and usual value of the interface. */
const RADIUS_KM = { min: 1, max: 100 };
const USUAL_SIZE_MM = 25;
const PRICES = { circle: 2, polygon: 3, webhook: 2 };
const DECIMALS = 5;

const HOW: Readonly<Record<Shape, string>> = {
  circle: 'Press on the middle of the place, then on the edge of the circle. Escape starts again.',
  polygon: 'Press on each corner, and on the first one again to finish. Escape starts again.',
};
const START = 'You are sent an event when radar detects hail there, and when half an hour went by without any.';

/** Draws a circle or an area on the map and saves it as an alert subscription or a monitored area. */
export function connectWatching({
  state,
  map: { map },
  service,
  askForKey,
}: {
  state: State;
  map: HailMap;
  service: Service;
  /** Asks the reader for a key. */
  askForKey: () => void;
}) {
  const card = element('watch');
  const form = element<HTMLFormElement>('watch-form');
  const trouble = element('watch-trouble');
  const words = element('watch-words');
  const url = element<HTMLInputElement>('watch-url');
  const name = element<HTMLInputElement>('watch-name');
  const size = element<HTMLSelectElement>('watch-size');
  let drawing: Drawing | null = null;
  let drawn: Drawn | null = null;
  /** Counts drawings: one that is still loading when the reader goes on is dropped. */
  let turn = 0;

  for (const step of SIZES.filter(({ category }) => category !== null)) {
    const words_of_step = `${inchesOfStep(step)} in (${step.mm_min} mm), ${step.category?.replaceAll('_', ' ')}`;
    size.add(new Option(words_of_step, String(step.mm_min), false, step.mm_min === USUAL_SIZE_MM));
  }

  const setTrouble = (reason: string | null) => {
    trouble.hidden = reason === null;
    trouble.textContent = reason;
  };
  /** The card stays while it saves: the secret in the answer is shown once. */
  const setSaving = (saving: boolean) => {
    for (const id of ['watch-save', 'close-watch', 'open-watch']) element<HTMLButtonElement>(id).disabled = saving;
  };
  const clear = () => {
    turn += 1;
    drawing?.remove();
    drawing = null;
    drawn = null;
    state.drawing = false;
    form.hidden = true;
    element('watch-secret').hidden = true;
    setTrouble(null);
  };
  const open = () => {
    clear();
    card.hidden = false;
    element('watch-start').hidden = false;
    words.textContent = START;
    element('watch-circle').focus();
  };
  const close = () => {
    clear();
    card.hidden = true;
    element('open-watch').focus();
  };

  const begin = async (shape: Shape): Promise<void> => {
    clear();
    const mine = turn;
    state.drawing = true;
    element('watch-start').hidden = true;
    words.textContent = HOW[shape];
    const started = await startDrawing(map, shape, BASEMAP.ink, finish);
    if (mine === turn) drawing = started;
    else started.remove();
  };

  const finish = (found: Drawn) => {
    const { shape, radius_km } = found;
    const is_circle = shape === 'circle';
    if (is_circle && (radius_km === null || radius_km < RADIUS_KM.min || radius_km > RADIUS_KM.max)) {
      void begin(shape);
      setTrouble(
        `The radius was ${(radius_km ?? 0).toFixed(1)} km; a circle has a radius of ${RADIUS_KM.min} to ${RADIUS_KM.max} km.`,
      );
      return;
    }
    drawn = found;
    form.hidden = false;
    words.textContent = is_circle ? `A circle with a radius of ${(radius_km as number).toFixed(1)} km.` : 'An area.';
    element('watch-size-field').hidden = !is_circle;
    url.required = is_circle;
    element('watch-url-label').textContent = is_circle
      ? 'Address that events are sent to'
      : 'New webhook for its events (leave empty to use those you have)';
    element('watch-price').textContent = is_circle
      ? `Saving costs ${PRICES.circle} credits.`
      : `Saving costs ${PRICES.polygon} credits, and a new webhook ${PRICES.webhook}.`;
    element('watch-least').hidden = is_circle;
    name.focus();
  };

  const showSecret = (secret: string) => {
    element('watch-secret').hidden = false;
    element('watch-secret-text').textContent = secret;
  };

  const save = async ({ shape, ring, radius_km }: Drawn): Promise<void> => {
    if (shape === 'circle') {
      const { lat, lon } = middleOf(ring);
      const body = {
        name: name.value.trim(),
        lat: Number(lat.toFixed(DECIMALS)),
        lon: Number(lon.toFixed(DECIMALS)),
        radius_km: Number((radius_km as number).toFixed(1)),
        min_size_mm: Number(size.value),
        webhook_url: url.value,
      };
      return showSecret((await service.call('/alerts/subscribe', { body })).webhook_secret);
    }
    // The webhook first: an address that is refused leaves no area without a receiver.
    if (url.value !== '') {
      showSecret((await service.call('/webhooks', { body: { url: url.value } })).secret);
      url.value = ''; // made: should the area be refused, another attempt makes no second one
    }
    const geometry = { type: 'Polygon', coordinates: [ring] };
    await service.call('/areas', { body: { kind: 'polygon', name: name.value.trim(), geometry } });
  };

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (drawn === null) return;
    setSaving(true);
    setTrouble(null);
    try {
      await save(drawn);
      form.hidden = true;
      state.drawing = false;
      words.textContent = `“${name.value.trim()}” is watched.`;
      name.value = '';
      url.value = '';
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      setTrouble(error.message);
      if (error.needs_key) askForKey();
    } finally {
      setSaving(false);
    }
  });
  onClick('open-watch', open);
  onClick('close-watch', close);
  onClick('watch-circle', () => void begin('circle'));
  onClick('watch-polygon', () => void begin('polygon'));

  return {
    /** Closes the card while nothing is drawn in it; false where it is closed, or a shape or a secret would be lost. */
    closeIdle(): boolean {
      const has_secret = !element('watch-secret').hidden;
      if (card.hidden || state.drawing || !form.hidden || has_secret) return false;
      close();
      return true;
    },
    /** A shape is being drawn, which has the escape key. */
    isDrawing: () => state.drawing && drawn === null,
  };
}
