import { Marker } from 'maplibre-gl';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LngLat } from '../data/day.ts';
import { findingInWords } from '../map/pick.ts';
import { YearChart } from '../page/chart.tsx';
import { Button, Card, Choice, Facts, Field, Spot, Tool, useAnswer } from '../page/parts.tsx';
import { counted, dateInWords, placeInWords, sizeInWords } from '../page/words.ts';
import { service, theMap } from '../site.ts';
import { change, chosenDate, state } from '../state.ts';
import { openDate } from '../time/dates.ts';
import {
  CREDITS,
  fellPrice,
  HISTORY_DAYS,
  openPinCalls,
  type PlaceHistory,
  RADII_MI,
  type Report,
} from './pin-calls.ts';
import { type AnswerWords, fellInWords, milesInWords, nearestStorm, verifiedInWords } from './pin-words.ts';
import { findingAt } from './spot.tsx';

const calls = openPinCalls(service);
const TABS = ['fell', 'history', 'verify'] as const;
const TITLES = { fell: 'This date', history: 'History', verify: 'Verify' };
const POLL_MS = 1500;
/** Reports are made in seconds; a service with many to make may need longer. */
const POLLS_MAX = 120;

/** The pin: a mark on the map that stays in the address, and a card with what fell there, its history and its verification. */
export function Pin() {
  const { pin } = state;
  return pin && <PinCard key={`${pin.lat} ${pin.lng}`} pin={pin} />;
}

function PinCard({ pin }: { pin: LngLat }) {
  const [tab, open] = useState<(typeof TABS)[number]>('fell');
  const date = chosenDate() ?? state.day?.date ?? null;
  const map = theMap();
  useEffect(() => {
    if (map === null) return;
    const element = Object.assign(document.createElement('div'), {
      className: 'pin-mark',
      role: 'img',
      ariaLabel: 'Pin',
    });
    const marker = new Marker({ element, anchor: 'bottom' }).setLngLat(pin).addTo(map.map);
    return () => void marker.remove();
  }, [map]);
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: TABS.length - 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(tab) + by) % TABS.length];
    open(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  const panels = {
    fell: <Fell key={date} pin={pin} date={date} verify={() => open('verify')} />,
    history: <History pin={pin} />,
    verify: <Verify pin={pin} date={date} />,
  };
  return (
    <Card id="pin" label="Pinned place">
      <header class="row spread">
        <div>
          <h2 id="pin-name">{state.pin_name ?? 'Pinned place'}</h2>
          <span id="pin-place" class="fine">
            {placeInWords(pin)}
          </span>
        </div>
        <Tool
          id="remove-pin"
          icon="close"
          label="Remove the pin"
          onClick={() => change({ pin: null, pin_name: null })}
        />
      </header>
      <div class="views" role="tablist" aria-label="About this place" onKeyDown={onKey}>
        {TABS.map((one) => {
          const is = { 'aria-controls': `pin-${one}`, 'aria-selected': tab === one, tabIndex: tab === one ? 0 : -1 };
          return (
            <Button key={one} id={`tab-${one}`} role="tab" onClick={() => open(one)} children={TITLES[one]} {...is} />
          );
        })}
      </div>
      {TABS.map((one) => (
        <div key={one} id={`pin-${one}`} role="tabpanel" aria-labelledby={`tab-${one}`} hidden={one !== tab}>
          {panels[one]}
        </div>
      ))}
    </Card>
  );
}

/** What fell on the date: by the map without a charge, and by distance for credits. */
function Fell({ pin, date, verify }: { pin: LngLat; date: string | null; verify: () => void }) {
  const { ask, busy, box } = useAnswer('fell-answer');
  if (date === null) return <h3 id="pin-day">No date is open</h3>;
  const price = fellPrice(date, state.now_ms);
  const askFell = () => {
    const now_ms = service.now_ms();
    if (fellPrice(date, now_ms) === null) verify();
    else void ask(async () => <Answer {...fellInWords(await calls.fell(pin, date, now_ms))} />);
  };
  const range = price && `${price.least} to ${price.most} credits`;
  return (
    <>
      <h3 id="pin-day">{dateInWords(date)}</h3>
      <Free pin={pin} />
      <Button id="ask-fell" class="primary wide" disabled={busy} price={range} onClick={askFell}>
        {price ? 'What fell here' : 'Verify this date'}
      </Button>
      {!price && <p class="fine">For a date this long ago a verification costs less and answers more.</p>}
      {box}
    </>
  );
}

/** What the map itself knows, without a charge: the step drawn here, and the storm that came nearest. */
function Free({ pin }: { pin: LngLat }) {
  const { day, view, span } = state;
  const found = findingAt(pin);
  if (found === null || !day || !theMap()?.shows([{ lat: pin.lat, lon: pin.lng }])) return <div id="pin-free" />;
  const { headline, second } = findingInWords({ ...found.finding, storm: null }, found.context);
  const before = view === 'day' && span === 'recent' ? day.before?.date : null;
  return (
    <div id="pin-free">
      <p>{second === null ? headline : `On the map: ${headline} (${second})`}</p>
      <p>{nearestStorm(day.frames, pin)}</p>
      {before && (
        <Button class="link" onClick={() => void openDate(before)}>
          {`Earlier hours belong to ${dateInWords(before)}: open it`}
        </Button>
      )}
    </div>
  );
}

function History({ pin }: { pin: LngLat }) {
  const { ask, busy, box, clear } = useAnswer('history-answer');
  const [radius_mi, setRadius] = useState<number>(RADII_MI[0]);
  const options = RADII_MI.map((miles) => [miles, counted(miles, 'mile')] as const);
  const year = CREDITS.history[CREDITS.history.length - 1];
  const askHistory = () =>
    ask(async () => <HailDays {...(await calls.history(pin, radius_mi))} radius_mi={radius_mi} />);
  const set = (miles: number) => {
    setRadius(miles);
    clear();
  };
  return (
    <>
      <Choice id="history-radius" label="Hail days within" options={options} set={set} />
      <Button
        id="ask-history"
        class="primary wide"
        disabled={busy}
        price={`${year.credits} credits`}
        onClick={askHistory}
      >
        Show {HISTORY_DAYS} days
      </Button>
      {box}
    </>
  );
}

function HailDays({ events, gaps, radius_mi }: PlaceHistory & { radius_mi: number }) {
  const today = new Date(service.now_ms()).toISOString().slice(0, 10);
  const last = [...gaps.dates_without_data, ...gaps.coverage.map(({ date }) => date)].sort().at(-1) ?? today;
  const looked = counted(gaps.coverage.length, 'day');
  return (
    <>
      <p>{`${counted(events.length, 'day')} with hail of 10 mm or more within ${counted(radius_mi, 'mile')}; radar data of ${looked} in the last ${HISTORY_DAYS}.`}</p>
      <YearChart sizes={events.map(({ storm_date, hail }) => [storm_date, hail.estimated_size_mm])} last={last} />
      {events.map(({ storm_date, hail, distance_km }) => (
        <Button key={storm_date} class="wide day" onClick={() => void openDate(storm_date)}>
          {`${dateInWords(storm_date)} · ${sizeInWords(hail.estimated_size_mm)}, ${milesInWords(distance_km)} away`}
        </Button>
      ))}
    </>
  );
}

/** Verification and its report. What was verified names its dates: it stays with them when another date is opened. */
function Verify({ pin, date }: { pin: LngLat; date: string | null }) {
  const { ask, show, busy, box, clear } = useAnswer('verify-answer');
  const [chosen, choose] = useState<string | null>(null);
  const [reference, setReference] = useState('');
  const asked = chosen ?? date ?? '';
  const askWith = (get: (date: string) => Promise<ComponentChildren>) => () => {
    if (asked === '') return show(<p class="refused">Choose a date first.</p>);
    choose(asked);
    void ask(() => get(asked));
  };
  const verify = async (date: string) => <Answer {...verifiedInWords(await calls.verify(pin, date))} />;
  const order = async (date: string) => {
    show(<p>The report is being made …</p>);
    return reportWords(await finished((await calls.order(pin, date, reference)).report_id));
  };
  const reportWords = ({ report_id, status, message, pdf_url }: Report) => {
    if (status === 'failed')
      return <p class="refused">{`The report could not be made${message ? `: ${message}` : ''}.`}</p>;
    const look = () => void ask(async () => reportWords(await finished(report_id)));
    if (pdf_url === null) return <Button class="link" onClick={look} children="Still being made: look again (free)" />;
    return (
      <>
        <p>The report is ready. The link works for 15 minutes.</p>
        <a href={pdf_url} download="" class="primary wide" children="Download the PDF" />
      </>
    );
  };
  const set = (date: string) => {
    choose(date);
    clear();
  };
  return (
    <>
      <Field id="pin-date" label="Date of loss" type="date" value={asked} set={set} />
      <p class="fine">
        This date and the next are looked at: an evening in the United States lies on the next UTC date.
      </p>
      <Button
        id="ask-verify"
        class="primary wide"
        disabled={busy}
        price={`${CREDITS.verify} credits`}
        onClick={askWith(verify)}
      >
        Verify
      </Button>
      <Field
        id="pin-reference"
        label="Claim number on the report"
        maxLength={200}
        placeholder="optional"
        set={setReference}
      />
      <Button
        id="ask-report"
        class="primary wide"
        disabled={busy}
        price={`${CREDITS.report} credits`}
        onClick={askWith(order)}
      >
        PDF report
      </Button>
      {box}
    </>
  );
}

async function finished(id: string): Promise<Report> {
  for (let polls = 0; ; polls++) {
    const report = await calls.report(id);
    if (report.status !== 'pending' || polls >= POLLS_MAX) return report;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function Answer({ headline, color, rows, lines }: AnswerWords) {
  return (
    <>
      <p class="headline">
        {color && <Spot color={color} />}
        {headline}
      </p>
      <Facts rows={rows} />
      <p class="fine">{lines.join(' ')}</p>
    </>
  );
}
