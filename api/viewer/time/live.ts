import { type Service, ServiceError } from '../data/service.ts';
import { element } from '../page/page.ts';
import { agoInWords } from '../page/words.ts';
import type { State } from '../state.ts';
import { OUTAGE_MS } from './span.ts';

/** The service is asked for its newest scan this often: free of credits, and far below any rate limit. */
const LOOK_EVERY_MS = 20_000;
/** Pages that were opened together do not ask together. */
const SPREAD = 0.2;
/** After an error the pause doubles, up to this. */
const LOOK_AT_LEAST_EVERY_MS = 300_000;
const WORDS_EVERY_MS = 10_000;

/**
 * Looks for newer scans while the newest date is open and the page is visible, and says how old the newest one is. `reload` loads
 * the date again, which is charged; it is called once for each newer scan.
 */
export function openLive({
  state,
  service,
  reload,
  onKeyRefused,
}: {
  state: State;
  service: Pick<Service, 'look'>;
  reload: () => Promise<void>;
  /** The key no longer opens what is shown. */
  onKeyRefused: (error: ServiceError) => void;
}) {
  const toggle = element<HTMLInputElement>('live');
  /** Data clock of the last answer, and when it came. */
  let clock: { now_ms: number; at_ms: number } | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let looking = false;
  let pause_ms = LOOK_EVERY_MS;

  const lastShown = () => state.day?.frames.at(-1)?.scan_time ?? null;
  const isOpen = () => state.newest !== null && state.date === state.newest && state.day !== null;

  /** Of an older date there will be no further scans. */
  const isNeeded = () => state.newest === null || isOpen();

  const describe = () => {
    const last = lastShown();
    const isShown = isOpen() && clock !== null && last !== null;
    element('live-row').hidden = !isShown;
    if (!isShown || clock === null || last === null) return;
    const age_ms = Math.max(0, clock.now_ms + performance.now() - clock.at_ms - Date.parse(last));
    element('age').textContent =
      `Newest scan ${agoInWords(age_ms)}${age_ms > OUTAGE_MS ? '; none has come since' : ''}`;
    element('live-row').classList.toggle('late', age_ms > OUTAGE_MS);
  };

  const plan = () => {
    clearTimeout(timer);
    if (document.hidden || !toggle.checked || !isNeeded()) return;
    timer = setTimeout(() => void look(), pause_ms * (1 + SPREAD * (Math.random() - 0.5)));
  };

  /** Looks once; calls that come meanwhile are dropped. */
  const look = async () => {
    if (looking || !isNeeded()) return;
    looking = true;
    clearTimeout(timer);
    try {
      const { scan_time, now } = await service.look();
      clock = { now_ms: Date.parse(now), at_ms: performance.now() };
      pause_ms = LOOK_EVERY_MS;
      const last = lastShown();
      if (last !== null && scan_time !== null && scan_time <= last) state.newest = state.day?.date ?? null;
      else if (state.newest === null) state.newest = scan_time?.slice(0, 10) ?? null;
      else if (isOpen() && scan_time !== null && toggle.checked && !document.hidden) await reload();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.needs_key && error.code !== 'insufficient_scope') onKeyRefused(error);
      pause_ms = Math.min(LOOK_AT_LEAST_EVERY_MS, Math.max(2 * pause_ms, 1000 * (error.retry_s ?? 0)));
    } finally {
      looking = false;
      describe();
      plan();
    }
  };

  const wake = () => {
    if (document.hidden || !toggle.checked || !isNeeded()) return clearTimeout(timer);
    if (pause_ms === LOOK_EVERY_MS) void look();
    else plan();
  };
  toggle.addEventListener('change', wake);
  document.addEventListener('visibilitychange', wake);
  setInterval(describe, WORDS_EVERY_MS);

  return { look, describe };
}
