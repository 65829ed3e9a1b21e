import { signal } from '@preact/signals';
import { setWorkerUrl } from 'maplibre-gl';
import { readAddress } from './address.ts';
import { openArchives } from './data/archives.ts';
import { openService } from './data/service.ts';
import { type HailMap, openMap } from './map/map.ts';
import { meta, storage } from './page/page.ts';
import { change, state } from './state.ts';

const KEY_NAME = 'hail.key';

/** The service lists archives without a key, and without a charge. */
export const is_public = meta('hail-access') === 'public';
/** The page is in a frame of another site (/embed): it uses no key and asks for none. */
export const is_embedded = document.documentElement.dataset.embed !== undefined;
export const archives = openArchives((error) => theMap()?.map.fire('error', { error }));
export const service = openService(meta('hail-api'), () => state.key, is_public, archives.forget);

setWorkerUrl(`${meta('hail-assets')}/maplibre-gl-worker.mjs`);
state.place = readAddress(location.hash).place;
state.key = ownKey();

const opened = signal<HailMap | null>(null);
/** The map, from when it is open: who waits for it takes `mapOpened`. */
export const theMap = (): HailMap | null => opened.value;
const container = document.getElementById('map') as HTMLElement;
export const mapOpened = openMap(container, { archives, place: state.place }).then((map) => {
  opened.value = map;
  return map;
});

/** The key that this browser keeps. */
export function ownKey(): string | null {
  return is_embedded ? null : (storage()?.getItem(KEY_NAME) ?? null);
}

/** Keeps the key in this browser, where it keeps any, and never in an address; null forgets it. */
export function setKey(key: string | null): void {
  if (key === null) storage()?.removeItem(KEY_NAME);
  else storage()?.setItem(KEY_NAME, key);
  asked = null;
  change({ key, unlimited: false });
}

/** Asks the reader for a key; `words` say why the last one was refused. */
export function askForKey(words: string | null = null): void {
  if (!is_embedded) change({ key_trouble: words, dialog: 'key-dialog' });
}

/** The key of which it was asked whether prices say something to it. */
let asked: string | null = null;

/** Prices are hidden where neither the plan nor the account has a limit, which is asked once; while it is not known they are shown. */
export async function hidePrices(): Promise<void> {
  const { key } = state;
  if (key === asked) return;
  asked = key;
  const usage = await service.call('/usage').catch(() => null);
  if (key === asked) state.unlimited = usage?.credits.limit === null && usage.credits.spend_cap === null;
}
