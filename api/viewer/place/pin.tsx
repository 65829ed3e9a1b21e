import { Marker } from 'maplibre-gl';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import type { LngLat } from '../data/day.ts';
import { findingInWords } from '../map/pick.ts';
import { YearChart } from '../page/chart.tsx';
import { BASEMAP } from '../page/palette.ts';
import { Button, Card, Facts, Field, folded, LITTLE_ROOM, Spot, Tool, useAnswer } from '../page/parts.tsx';
import { counted, dateInWords, placeInWords, sizeInWords } from '../page/words.ts';
import { service, theMap } from '../site.ts';
import { change, chosenDate, state } from '../state.ts';
import { openDate } from '../time/dates.ts';
import { CREDITS, fellDays, fellPrice, HISTORY_DAYS, openPinCalls, type PlaceHistory, RADII_MI } from './pin-calls.ts';
import { type AnswerWords, fellInWords, milesInWords, nearestStorm, verifiedInWords } from './pin-words.ts';
import { findingAt } from './spot.tsx';

const calls = openPinCalls(service);
const TABS = [
  ['fell', 'This date'],
  ['history', 'History'],
  ['verify', 'Verify'],
] as const;

/** The pin: a mark on the map that stays in the address, and a card with what fell there, its history and its verification. */
export function Pin() {
  const { pin } = state;
  return pin && <PinCard key={`${pin.lat} ${pin.lng}`} pin={pin} />;
}

function PinCard({ pin }: { pin: LngLat }) {
  const [shown, show] = useState<string>('fell');
  const date = chosenDate();
  const map = theMap();
  useLayoutEffect(() => {
    // There is no room for both cards.
    if (LITTLE_ROOM) folded.layers = true;
    const marker = map && new Marker({ color: BASEMAP.ink }).setLngLat(pin).addTo(map.map);
    return () => marker?.remove();
  }, [map]);
  const panels = {
    fell: date === null ? <h3>No date is open</h3> : <Fell pin={pin} date={date} />,
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
      <fieldset class="views" aria-label="About this place">
        {TABS.map(([id, title]) => (
          <label key={id}>
            <input id={`tab-${id}`} type="radio" name="tab" checked={id === shown} onChange={() => show(id)} />
            {title}
          </label>
        ))}
      </fieldset>
      {TABS.map(([id]) => (
        <div key={id} id={`pin-${id}`} hidden={id !== shown}>
          {panels[id]}
        </div>
      ))}
    </Card>
  );
}

interface AskProps {
  readonly id: string;
  readonly credits: number;
  readonly get: () => Promise<ComponentChildren>;
  readonly children: ComponentChildren;
}

/** A question that costs credits: a button, and below it the answer, or why there is none. */
function Ask({ id, credits, get, children }: AskProps) {
  const { ask, busy, box } = useAnswer(`${id}-answer`);
  return (
    <>
      <Button
        id={`ask-${id}`}
        class="primary wide"
        disabled={busy}
        price={`${credits} credits`}
        onClick={() => ask(get)}
        children={children}
      />
      {box}
    </>
  );
}

/** What fell on the date: by the map without a charge, and by distance for credits. */
function Fell({ pin, date }: { pin: LngLat; date: string }) {
  const days = fellDays(date, state.now_ms);
  return (
    <>
      <h3 id="pin-day">{dateInWords(date)}</h3>
      <Free pin={pin} />
      {days === undefined ? (
        <p class="fine">For a date this long ago “Verify” costs less and answers more.</p>
      ) : (
        <Ask
          key={date}
          id="fell"
          credits={fellPrice(days)}
          get={async () => <Answer {...fellInWords(await calls.fell(pin, date, days))} />}
        >
          What fell here
        </Ask>
      )}
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
  const [miles, setMiles] = useState<number>(RADII_MI[0]);
  const options = RADII_MI.map((radius) => [radius, counted(radius, 'mile')] as const);
  return (
    <>
      <Field id="history-radius" label="Hail days within" options={options} set={(miles) => setMiles(Number(miles))} />
      <Ask
        key={miles}
        id="history"
        credits={CREDITS.history[HISTORY_DAYS]}
        get={async () => <HailDays {...(await calls.history(pin, miles))} miles={miles} />}
      >
        Show {HISTORY_DAYS} days
      </Ask>
    </>
  );
}

function HailDays({ events, radar_gaps, miles }: PlaceHistory & { miles: number }) {
  const looked = counted(radar_gaps.coverage.length, 'day');
  return (
    <>
      <p>{`${counted(events.length, 'day')} with hail of 10 mm or more within ${counted(miles, 'mile')}; radar data of ${looked} in the last ${HISTORY_DAYS}.`}</p>
      <YearChart
        sizes={events.map(({ storm_date, hail }) => [storm_date, hail.estimated_size_mm])}
        last={new Date(service.now_ms()).toISOString().slice(0, 10)}
      />
      {events.map(({ storm_date, hail, distance_km }) => (
        <Button key={storm_date} class="wide day" onClick={() => void openDate(storm_date)}>
          {`${dateInWords(storm_date)} · ${sizeInWords(hail.estimated_size_mm)}, ${milesInWords(distance_km)} away`}
        </Button>
      ))}
    </>
  );
}

/** Verification and its report. What was asked for names its date, and stays when another one is opened. */
function Verify({ pin, date }: { pin: LngLat; date: string | null }) {
  const [chosen, choose] = useState<string | null>(null);
  const [reference, setReference] = useState('');
  const asked = chosen ?? date ?? '';
  const verify = async () => {
    choose(asked);
    return <Answer {...verifiedInWords(await calls.verify(pin, asked))} />;
  };
  const report = async () => {
    choose(asked);
    const pdf_url = await calls.report(pin, asked, reference);
    return (
      <>
        <p>The report is ready. The link works for 15 minutes.</p>
        <a href={pdf_url} download="" class="primary wide" children="Download the PDF" />
      </>
    );
  };
  return (
    <>
      <Field id="pin-date" label="Date of loss" type="date" value={asked} set={choose} />
      <p class="fine">
        This date and the next are looked at: an evening in the United States lies on the next UTC date.
      </p>
      {asked && <Ask key={`v ${asked}`} id="verify" credits={CREDITS.verify} get={verify} children="Verify" />}
      <Field
        id="pin-reference"
        label="Claim number on the report"
        maxLength={200}
        placeholder="optional"
        set={setReference}
      />
      {asked && <Ask key={`r ${asked}`} id="report" credits={CREDITS.report} get={report} children="PDF report" />}
    </>
  );
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
