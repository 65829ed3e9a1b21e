import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import type { HailHistory } from '../../../schemas/resources/history-event.ts';
import { addDays } from '../../../schemas/time.ts';
import type { LngLat } from '../data/day.ts';
import { pinPlace } from '../display.ts';
import { Bar, percent } from '../page/chart.tsx';
import { Button, Card, Facts, Field, folded, LITTLE_ROOM, Spot, Tool, useAnswer } from '../page/parts.tsx';
import { counted, dateInWords, placeInWords, sizeInWords, spanInWords, stormDateInWords } from '../page/words.ts';
import { service, theMap } from '../site.ts';
import { change, chosenDate, state } from '../state.ts';
import { openDate } from '../time/dates.ts';
import {
  CREDITS,
  fellDays,
  fellInWords,
  fellPrice,
  HISTORY_DAYS,
  milesInWords,
  nearestStorm,
  openPinCalls,
  RADII_MI,
  verifiedInWords,
} from './pin-words.ts';
import { wordsAt } from './spot.tsx';

const calls = openPinCalls(service);

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
    map?.mark(pin, 'pin');
    return () => map?.mark(null, 'pin');
  }, [map]);
  const tabs = [
    ['fell', 'This date', date === null ? 'No date is open.' : <Fell pin={pin} date={date} />],
    ['history', 'History', <History pin={pin} />],
    ['verify', 'Verify', <Verify pin={pin} date={date} />],
  ] as const;
  const remove = () => change({ pin: null, pin_name: null });
  return (
    <Card id="pin" label="Pinned place">
      <header class="row spread">
        <div>
          <h2 id="pin-name">{state.pin_name ?? 'Pinned place'}</h2>
          <span id="pin-place" class="fine" children={placeInWords(pin)} />
        </div>
        <Tool id="remove-pin" icon="close" label="Remove the pin" onClick={remove} />
      </header>
      <fieldset class="views" aria-label="About this place">
        {tabs.map(([id, title]) => (
          <label key={id}>
            <input id={`tab-${id}`} type="radio" name="tab" checked={id === shown} onChange={() => show(id)} />
            {title}
          </label>
        ))}
      </fieldset>
      {tabs.map(([id, , content]) => (
        <div key={id} id={`pin-${id}`} hidden={id !== shown} children={content} />
      ))}
    </Card>
  );
}

interface AskProps {
  readonly id: string;
  readonly label: string;
  readonly credits: () => number;
  readonly get: () => Promise<ComponentChildren>;
}

/** A question that costs credits: a button, and below it the answer, or why there is none. */
function Ask({ id, label, credits, get }: AskProps) {
  const { ask, busy, box } = useAnswer(`${id}-answer`);
  const onClick = async () => {
    await ask(get);
    // The card has grown, perhaps over the place.
    if (state.pin) pinPlace(state.pin, state.pin_name);
  };
  const is = { id: `ask-${id}`, class: 'primary wide', disabled: busy, onClick };
  return (
    <>
      <Button price={`${credits()} credits`} children={label} {...is} />
      {box}
    </>
  );
}

/** What fell on the date: by the map without a charge, and by distance for credits. */
function Fell({ pin, date }: { pin: LngLat; date: string }) {
  const days = fellDays(date, state.now_ms);
  const get = async () => <Answer {...fellInWords(pin, await calls.fell(pin, date, days ?? 0))} />;
  return (
    <>
      <h3 id="pin-day">{spanInWords(pin, `${date}T00:00Z`, `${addDays(date, 1)}T00:00Z`)}</h3>
      <p class="fine">{stormDateInWords(date)}</p>
      <Free pin={pin} />
      {days ? (
        <Ask key={date} id="fell" label="What fell here" credits={() => fellPrice(days)} get={get} />
      ) : (
        <p class="fine">For a date this long ago “Verify” costs less and answers more.</p>
      )}
    </>
  );
}

/** What the map itself knows, without a charge: the step drawn here, and the storm that came nearest. */
function Free({ pin }: { pin: LngLat }) {
  const { day, view, span } = state;
  const words = wordsAt(pin, false);
  if (words === null || day === null) return <div id="pin-free" />;
  const { headline, second } = words;
  const before = view === 'day' && span === 'recent' ? day.before?.date : null;
  return (
    <div id="pin-free">
      <p>{second === null ? headline : `On the map: ${headline} (${second})`}</p>
      <p>{nearestStorm(day.frames, pin)}</p>
      {before && (
        <Button class="link" onClick={() => void openDate(before)}>
          {`Earlier hours belong to ${dateInWords(before)} (UTC): open it`}
        </Button>
      )}
    </div>
  );
}

function History({ pin }: { pin: LngLat }) {
  const [miles, setMiles] = useState<number>(RADII_MI[0]);
  const options = RADII_MI.map((radius) => [radius, counted(radius, 'mile')] as const);
  const get = async () => <HailDays {...(await calls.history(pin, miles))} {...{ pin, miles }} />;
  const label = `Show ${HISTORY_DAYS} days`;
  return (
    <>
      <Field id="history-radius" label="Hail days within" options={options} set={(value) => setMiles(Number(value))} />
      <Ask key={miles} id="history" label={label} credits={() => CREDITS.history[HISTORY_DAYS]} get={get} />
    </>
  );
}

/** Hail days in words, as bars over the year, and as a list. */
function HailDays({ events, radar_gaps, pin, miles }: HailHistory & { pin: LngLat; miles: number }) {
  const dates = [...radar_gaps.dates_without_data, ...radar_gaps.coverage.map(({ date }) => date)].sort();
  const left = (date: string) => dates.indexOf(date) / dates.length;
  const months = dates.filter((date) => date.endsWith('-01'));
  const looked = counted(radar_gaps.coverage.length, 'day');
  return (
    <>
      <p>{`${counted(events.length, 'day')} with hail of 10 mm or more within ${counted(miles, 'mile')}; radar data of ${looked} in the last ${HISTORY_DAYS}.`}</p>
      <div class="chart" aria-hidden="true">
        <div class="bars">
          {events.map(({ storm_date, hail }) => (
            <Bar key={storm_date} class="dot" mm={hail.estimated_size_mm} left={left(storm_date)} />
          ))}
          {months.map((date) => (
            <time key={date} style={{ left: percent(left(date)) }} children={dateInWords(date).split(' ')[1]} />
          ))}
        </div>
      </div>
      {events.map(({ storm_date, hail, distance_km, first_detected, last_detected }) => (
        <Button key={storm_date} class="wide day" onClick={() => void openDate(storm_date)}>
          {`${spanInWords(pin, first_detected, last_detected)} · ${sizeInWords(hail.estimated_size_mm)}, ${milesInWords(distance_km)} away · `}
          <span class="fine">{stormDateInWords(storm_date)}</span>
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
    return <Answer {...verifiedInWords(pin, await calls.verify(pin, asked))} />;
  };
  const report = () => calls.report(pin, asked, reference);
  const wait = async () => {
    choose(asked);
    const pdf_url = await report().wait();
    if (pdf_url === null) return 'Still being made. Press again to look, free of charge.';
    return (
      <>
        <p>The report is ready. The link works for 15 minutes.</p>
        <a href={pdf_url} download="" class="primary wide" children="Download the PDF" />
      </>
    );
  };
  const claim = { id: 'pin-reference', maxLength: 200, placeholder: 'optional' };
  return (
    <>
      <Field id="pin-date" label="Date of loss" type="date" value={asked} set={choose} />
      <p class="fine">
        This date and the next are looked at: an evening in the United States lies on the next UTC date.
      </p>
      {asked && <Ask key={`v ${asked}`} id="verify" label="Verify" credits={() => CREDITS.verify} get={verify} />}
      <Field label="Claim number on the report" set={setReference} {...claim} />
      {asked && <Ask key={`r ${asked}`} id="report" label="PDF report" credits={() => report().credits()} get={wait} />}
    </>
  );
}

function Answer({ headline, color, rows, lines }: ReturnType<typeof fellInWords>) {
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
