import type { DayIndex } from '../data/day.ts';
import { fitHail } from '../display.ts';
import { change, state } from '../state.ts';
import { chooseView, isNewest, openDate, openNewest, refresh, step, stepDay } from '../time/dates.ts';
import { axisOf, OUTAGE_MS } from '../time/span.ts';
import { SWATH_MIN_MM } from './palette.ts';
import { Button, Card, Fold, opening, Say, Toggle, Tool } from './parts.tsx';
import { agoInWords, clockInWords, counted, dateInWords, sizeInWords } from './words.ts';

const VIEWS = { recent: 'Last 24 hours', day: 'Whole day', scan: 'Scan by scan' };

/** The card with date, view, largest size, and what is wrong. */
export function Panel() {
  const { day, date, view, span, busy, notice, trouble } = state;
  const shown = view === 'day' && span === 'recent' ? 'recent' : view;
  const isEmpty = day !== null && day.frames.length === 0;
  /** With the shift key every date, else dates with hail. */
  const go = (by: number) => (event: MouseEvent) => (event.shiftKey ? stepDay(by) : void step(by));
  const open = ({ currentTarget: { value } }: { currentTarget: HTMLInputElement }) => value && void openDate(value);
  return (
    <Card id="panel" label="Date and view" class={`${busy ? 'busy' : ''} ${isEmpty ? 'empty' : ''}`}>
      <h1 class="unseen">Hail map</h1>
      <Say id="simulated" class="badge" words={isSimulated(day) && 'Simulated · not real weather'} />
      <div class="row">
        <Tool id="earlier" icon="earlier" label="Day with hail before" onClick={go(-1)} />
        <input id="date" class="grow" type="date" aria-label="Date, UTC" value={date ?? ''} onChange={open} />
        <Tool id="later" icon="later" label="Day with hail after" onClick={go(1)} />
        <Tool id="open-days" icon="days" label="List of hail days" onClick={opening('days')} />
      </div>
      <fieldset class="views" aria-label="What to show">
        {(['recent', 'day', 'scan'] as const).map((one) => (
          <Button key={one} id={`view-${one}`} aria-pressed={one === shown} onClick={() => chooseView(one)}>
            {VIEWS[one]}
          </Button>
        ))}
      </fieldset>
      <Say id="notice" class="said" role="status" words={notice} />
      <Say id="summary" class={isEmpty ? 'said' : ''} aria-live="polite" words={summary(day)} />
      <Live />
      <div id="trouble" class="said alarm" role="alert" hidden={trouble === null}>
        <p id="trouble-words">{trouble?.words}</p>
        {trouble?.act && <Button id="trouble-action" onClick={() => trouble.act?.()} children={trouble.label} />}
      </div>
      <div class="row spread quiet">
        <Button id="fit" class="link" onClick={() => void fitHail()} children="Show all hail" />
        <Button id="newest" class="link" onClick={() => void openNewest()} children="Newest date" />
      </div>
      <Fold card="panel" label="Date and view" />
    </Card>
  );
}

/** True for a date whose data are made up, in part or as a whole. */
export const isSimulated = (day: DayIndex | null) => (day?.source ?? 'observed') !== 'observed';

/** Age of the newest scan, while the newest date is open. */
function Live() {
  const { now_ms, day, looked, live } = state;
  const last = day?.frames.at(-1)?.scan_time;
  const isShown = isNewest() && looked && last !== undefined;
  const age_ms = isShown ? Math.max(0, now_ms - Date.parse(last)) : 0;
  const isLate = age_ms > OUTAGE_MS;
  const toggle = () => change({ live: !live });
  return (
    <div id="live-row" class={`row ${isLate ? 'late' : ''}`} hidden={!isShown}>
      <Toggle id="live" label="Live" title="Loads further scans by itself" checked={live} onChange={toggle} />
      <span id="age" class="grow">
        {`Newest scan ${agoInWords(age_ms)}${isLate ? '; none has come since' : ''}`}
      </span>
      <Tool id="refresh" icon="refresh" label="Look for newer scans" onClick={() => void refresh()} />
    </div>
  );
}

/** Largest hail of the date or of the last 24 hours; empty while nothing is read. */
function summary(day: DayIndex | null): string {
  if (day === null) return '';
  const { date, frames, before } = day;
  if (date === null) return 'Nothing is published yet. Once the pipeline has published a scan, it can be seen here.';
  if (frames.length === 0)
    return `Nothing is published for ${dateInWords(date)}: no scans, so hail or none is not known.`;
  const { max_size_mm, scan_time } = frames.reduce((a, b) => ((b.max_size_mm ?? 0) > (a.max_size_mm ?? 0) ? b : a));
  const scans = `${counted(frames.length, 'scan')}${before ? ' in 24 hours' : ''}`;
  const largest =
    max_size_mm !== null && max_size_mm >= SWATH_MIN_MM
      ? `Largest ${sizeInWords(max_size_mm)} at ${clockInWords(scan_time)}, ${scans}.`
      : `${scans}, and no hail of ${SWATH_MIN_MM} mm or more seen.`;
  if (!before?.shows_earlier) return largest;
  return `${largest} Swaths are of whole dates: those of ${dateInWords(before.date)} also show hail before ${clockInWords(before.from)}.`;
}

/** More outages are counted, not named. */
const OUTAGES_NAMED = 2;

/** `No scans 02:10–03:40 UTC`: outages between scans, and hours without scans at the begin of the last 24. */
export function outageWords({ frames, before }: DayIndex): string {
  if (frames.length === 0) return '';
  const { outages, from_ms } = axisOf(frames);
  const clock = (ms: number) => new Date(ms).toISOString().slice(11, 16);
  const isLate = before !== undefined && from_ms - Date.parse(before.from) > OUTAGE_MS;
  const stretches = outages.map((one) => `${clock(one.from_ms)}–${clock(one.to_ms)}`);
  const named = stretches.length > OUTAGES_NAMED ? [`${stretches.length} times for more than 10 min`] : stretches;
  const all = [...(isLate ? [`before ${clock(from_ms)}`] : []), ...named];
  return all.length === 0 ? '' : `No scans ${all.join(', ')} UTC`;
}
