import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Usage } from '../../../schemas/resources/usage.ts';
import { askForKey, is_public, service, setKey } from '../site.ts';
import { change, type DialogId, state } from '../state.ts';
import { enterKey, openDate } from '../time/dates.ts';
import { hailDays, loadHailDays } from '../time/hail-days.ts';
import { KEYS } from './keys.ts';
import { meta } from './page.ts';
import { stepOf } from './palette.ts';
import { Button, Facts, Field, focus, Say, Spot, sent, Tool, useAnswer } from './parts.tsx';
import { counted, dateInWords, sizeInWords } from './words.ts';

const DIALOGS: Readonly<Record<DialogId, readonly [title: string, Content: () => ComponentChildren]>> = {
  'key-dialog': ['A key, please', KeyForm],
  days: ['Hail days', Days],
  account: ['Credits and keys', Account],
  share: ['Share this view', Share],
  help: ['Keys and help', Help],
};
const close = () => change({ dialog: null });

/** The dialog that is open, if any. */
export function Dialog() {
  const id = state.dialog;
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (id === null) box.current?.close();
    else if (!box.current?.open) box.current?.showModal();
  }, [id]);
  const [title, Content] = id === null ? ['', () => null] : DIALOGS[id];
  return (
    <dialog ref={box} id={id ?? undefined} class="card" aria-label={title} onClose={close}>
      <header class="row spread">
        <h2>{title}</h2>
        <Tool id={`close-${id}`} icon="close" label="Close" onClick={close} />
      </header>
      <Content key={id} />
    </dialog>
  );
}

function KeyForm() {
  return (
    <form id="key-form" onSubmit={(event) => enterKey(sent(event).key)}>
      <Say id="key-trouble" class="said alarm" role="alert" words={state.key_trouble} />
      <p>What there is to see is listed for a live key of this service. It stays in this browser.</p>
      <Field label="Live key" id="key" name="key" type="password" ref={focus} placeholder="hs_live_…" required />
      <p class="fine price">
        Each date you open costs 5 credits, once per visit; the last 24 hours are two dates. While the newest date is
        open and “Live” is on, each further scan is loaded by itself for 5 credits; looking whether there is one is
        free. The list of hail days costs 15 credits a year, once per visit.
      </p>
      <Button class="primary wide" type="submit" children="Use this key" />
    </form>
  );
}

function Share() {
  const [note, setNote] = useState('');
  const link = useRef<HTMLInputElement>(null);
  const copy = async () => {
    // The clipboard is closed to pages that come without TLS: the selected text can be copied by hand.
    link.current?.select();
    const words = navigator.clipboard?.writeText(location.href).then(() => 'Copied.');
    setNote((await words?.catch(() => null)) ?? 'The link is selected; copy it with your keyboard.');
  };
  const printMap = () => {
    close();
    setTimeout(print);
  };
  return (
    <>
      <Field label="Link to this place, date and scan" id="share-link" ref={link} readOnly value={location.href} />
      <Say id="share-note" class="fine" aria-live="polite" words={note} />
      <div class="row spread">
        <Button class="link" onClick={printMap} children="Print" />
        <Button id="copy-link" class="primary" onClick={() => void copy()} children="Copy link" />
      </div>
    </>
  );
}

/** Dates with hail, newest first. */
function Days() {
  const { days, range } = hailDays;
  const { ask, busy, box } = useAnswer('days-trouble');
  const load = (is_further: boolean) => ask(() => loadHailDays(is_further).then(() => null));
  useEffect(() => void load(false), []);
  const open = (date: string) => {
    close();
    void openDate(date);
  };
  const dates = range && `${dateInWords(range.start)} to ${dateInWords(range.end)}`;
  const words = dates && `${counted(days.length, 'day')} with hail of 19 mm or more, ${dates}`;
  return (
    <>
      <Say id="days-words" class="fine" aria-live="polite" words={words} />
      {box}
      <ul id="days-list">
        {days.map(({ event_date, max_size_mm, cell_count }) => (
          <li key={event_date}>
            <Button class="row wide day" onClick={() => open(event_date)}>
              <Spot color={stepOf(max_size_mm).color} />
              <span>{dateInWords(event_date)}</span>
              <span class="grow">{sizeInWords(max_size_mm)}</span>
              <span class="fine">{counted(cell_count, 'storm')}</span>
            </Button>
          </li>
        ))}
      </ul>
      <Button class="link" disabled={busy} price={!is_public && '15 credits'} onClick={() => void load(true)}>
        List the year before
      </Button>
    </>
  );
}

/** Credits of this month, by operation, and the keys of the account. */
function Account() {
  const { ask, box } = useAnswer('account-answer');
  const load = async () => {
    const { period, plan, credits, operations, keys }: Usage = await service.call('/usage?operations_limit=100');
    const { used, limit, remaining } = credits;
    const inWords = (value: number | null) => value?.toLocaleString('en-US');
    const left = limit === null ? 'no monthly limit' : `${inWords(remaining)} of ${inWords(limit)} left`;
    const spent = operations.items.map(
      (one) => [one.operation, `${counted(one.count, 'call')}, ${counted(one.credits, 'credit')}`] as const,
    );
    const used_keys = keys.items.map(
      ({ id, name, status, requests }) => [id, `${name}, ${status}, ${counted(requests, 'request')}`] as const,
    );
    return (
      <>
        <p id="balance">{`${period}: ${counted(used, 'credit')} used, ${left}. Plan: ${plan}.`}</p>
        <Facts id="operations" rows={spent} />
        <Facts id="keys" rows={used_keys} />
      </>
    );
  };
  useEffect(() => void ask(load), []);
  return box;
}

function Help() {
  const forget = () => {
    setKey(null);
    askForKey();
  };
  return (
    <>
      <Facts rows={KEYS.map(([keys, words]) => [keys, words])} />
      <p>
        Click anywhere for the size there: colours are steps, a storm says its own largest size. Sizes are MESH, an
        estimate from radar reflectivity aloft; hail drifts 1–5 km as it falls. Hatched areas were not covered by radar:
        nothing is known there. Elsewhere no colour means less than the smallest step. Times are UTC unless they name
        another zone; hatched stretches of the timeline had no scans.
      </p>
      <p class="fine">Map: {meta('hail-map-sources')}. Drawn by MapLibre.</p>
      <div class="row spread">
        <Button class="link" onClick={() => askForKey()} children="Change key" />
        <Button class="link" onClick={forget} children="Forget key" />
      </div>
    </>
  );
}
