import { useMemo } from 'preact/hooks';
import type { Frame } from '../data/day.ts';
import { Bar, percent } from '../page/chart.tsx';
import { meta } from '../page/page.ts';
import { outageWords } from '../page/panel.tsx';
import { Button, Card, Tool } from '../page/parts.tsx';
import { clockInWords, dateInWords, sizeInWords, sourceInWords, timeInWords } from '../page/words.ts';
import { chosenDate, chosenFrame, state } from '../state.ts';
import { goToScan, quicken, SPEEDS, stepScan, togglePlaying } from './player.ts';
import { axisOf, nearestScan, shareOf } from './span.ts';
import { clockOfZone, hourOfZone, zoneAt } from './zones.ts';

const MINUTE_MS = 60_000;
/** Steps between labels, of which there are at most so many. */
const LABEL_STEPS_MIN = [10, 15, 30, 60, 120, 180];
const LABELS_MAX = 12;
const NO_FRAMES: readonly Frame[] = [];

/** Player, clock and timeline, and the words of caution. */
export function Dock() {
  const { day, busy, playing, speed } = state;
  const isAlone = (day?.frames.length ?? 0) < 2;
  const until = day?.frames.length === 0 ? 'Newest data' : 'Data until';
  const absent = day === null ? 'nothing shown' : 'no data';
  const nothing = busy ? 'loading …' : absent;
  return (
    <Card id="dock" label="Time">
      <div id="player" class="row">
        <Tool
          id="play"
          icon={playing ? 'pause' : 'play'}
          label={playing ? 'Pause' : 'Play'}
          disabled={isAlone}
          onClick={togglePlaying}
        />
        <Button id="speed" class="tool" aria-label={`Speed ${SPEEDS[speed]}×`} disabled={isAlone} onClick={quicken}>
          {SPEEDS[speed]}×
        </Button>
        <Clock />
        <Timeline />
      </div>
      <p id="caution" class="row fine">
        <strong>Radar estimate, not a ground measurement</strong>
        <span id="data-time">{day?.data_as_of ? `${until} ${timeInWords(day.data_as_of)}` : nothing}</span>
        <span id="source">{sourceInWords(day?.source ?? null)}</span>
        <span id="outages">{day && outageWords(day)}</span>
        <span>Map: {meta('hail-map-sources')}</span>
      </p>
    </Card>
  );
}

/** Time of the scan that is shown, in UTC, at the middle of the map and on the reader's own clock. */
function Clock() {
  const { day, view, span, place, loading } = state;
  const isScan = view === 'scan';
  const time = (isScan ? chosenFrame() : day?.frames.at(-1))?.scan_time;
  const zone = place && zoneAt(place);
  const there = time && zone ? clockOfZone(time, zone) : '';
  const here = time ? clockOfZone(time) : '';
  const own = here && here !== there && `your clock ${here}`;
  const utc = time ? clockInWords(time) : '–';
  const title = span === 'recent' ? '24 hours' : dateInWords(day?.date ?? '');
  const whole = [title, `until ${utc}`, there ? `until ${there}` : own];
  const lines = isScan || !time ? [utc, there || (time && dateInWords(chosenDate() ?? '')), own] : whole;
  return (
    <div id="clock" class={loading ? 'loading' : ''}>
      <strong id="clock-utc">{lines[0]}</strong>
      <span id="clock-local">{lines[1]}</span>
      <span id="clock-own">{lines[2]}</span>
    </div>
  );
}

/** Scans as bars of their largest hail on an axis that is true to time, with a slider over them. */
function Timeline() {
  const { view, place } = state;
  const frames = state.day?.frames ?? NO_FRAMES;
  const axis = useMemo(() => axisOf(frames), [frames]);
  const zone = place && zoneAt(place);
  const bars = useMemo(() => <Bars frames={frames} zone={zone} />, [frames, zone]);
  const shown = view === 'scan' ? chosenFrame() : undefined;
  const here = shown ? shareOf(axis, Date.parse(shown.scan_time)) : 1;
  const seconds = (ms: number) => Math.round((ms - axis.from_ms) / 1000);
  const max = seconds(axis.to_ms);
  // The slider counts seconds; its arrow keys go from scan to scan.
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    stepScan(by);
  };
  const onInput = (value: number) => {
    const index = nearestScan(axis, axis.from_ms + 1000 * value);
    if (frames[index] !== shown) goToScan(index);
  };
  return (
    <div id="timeline" class="grow">
      <div class={`bars ${shown ? 'at-scan' : ''}`} aria-hidden="true">
        {bars}
        {shown && <Bar mm={shown.max_size_mm} left={here} class="now" />}
        {shown && <b class="hand" style={{ left: percent(here) }} />}
      </div>
      <input
        id="scrubber"
        type="range"
        max={max}
        aria-label="Scan"
        aria-valuetext={shown ? frameInWords(shown) : 'whole day'}
        disabled={frames.length === 0}
        value={shown ? seconds(Date.parse(shown.scan_time)) : max}
        onInput={({ currentTarget }) => onInput(Number(currentTarget.value))}
        onKeyDown={onKey}
      />
    </div>
  );
}

function frameInWords({ scan_time, max_size_mm }: Frame): string {
  return `${clockInWords(scan_time)}, ${max_size_mm === null ? 'no hail' : `largest ${sizeInWords(max_size_mm)}`}`;
}

/** Bars of all scans, outages as hatched stretches, and hours: UTC, and below it the clock of a zone. */
function Bars({ frames, zone }: { frames: readonly Frame[]; zone: string | null }) {
  const axis = axisOf(frames);
  const shares = axis.times_ms.map((time_ms) => shareOf(axis, time_ms));
  const room = (i: number) => Math.min((shares[i + 1] ?? 2) - shares[i], shares[i] - (shares[i - 1] ?? -1));
  const minutes = (axis.to_ms - axis.from_ms) / MINUTE_MS;
  const every_ms = MINUTE_MS * (LABEL_STEPS_MIN.find((step) => minutes / step <= LABELS_MAX) ?? 180);
  const first = Math.ceil(axis.from_ms / every_ms);
  const hours = Array.from({ length: Math.floor(axis.to_ms / every_ms) - first + 1 }, (_, i) => (first + i) * every_ms);
  return (
    <>
      {axis.outages.map(({ from_ms, to_ms }) => (
        <span
          key={from_ms}
          class="outage"
          style={{ left: percent(shareOf(axis, from_ms)), right: percent(1 - shareOf(axis, to_ms)) }}
        />
      ))}
      {frames.map(({ scan_id, max_size_mm }, i) => (
        <Bar key={scan_id} mm={max_size_mm} left={shares[i]} width={room(i)} />
      ))}
      {frames.length > 0 &&
        hours.map((at_ms) => (
          <time key={at_ms} style={{ left: percent(shareOf(axis, at_ms)) }}>
            {new Date(at_ms).toISOString().slice(11, 16)}
            {zone && <span>{`\n${hourOfZone(at_ms, zone)}`}</span>}
          </time>
        ))}
    </>
  );
}
