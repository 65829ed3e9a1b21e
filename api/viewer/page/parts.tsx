/*
 * What the cards and dialogs of the page are made of.
 */
import type { AllHTMLAttributes, ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ServiceError } from '../data/service.ts';
import { askForKey } from '../site.ts';
import { change, type DialogId, reactive } from '../state.ts';
import { store, stored } from './page.ts';

const ICONS = {
  find: 'M8.5 13.7a5.2 5.2 0 1 0 0-10.4 5.2 5.2 0 0 0 0 10.4zM12.6 12.6 17 17',
  locate: 'M10 14.6a4.6 4.6 0 1 0 0-9.2 4.6 4.6 0 0 0 0 9.2zM10 2v3.4M10 14.6V18M2 10h3.4M14.6 10H18',
  days: 'M7.5 5h9M7.5 10h9M7.5 15h9M3.6 5h.01M3.6 10h.01M3.6 15h.01',
  layers: 'm10 3 7 3.8-7 3.8-7-3.8zM3 10.6l7 3.8 7-3.8',
  watch:
    'M4 14.5h12c-1.3-1.2-1.6-2.6-1.6-5.2A4.4 4.4 0 0 0 10 4.6a4.4 4.4 0 0 0-4.4 4.7c0 2.6-.3 4-1.6 5.2zM8.4 17.2h3.2',
  share: 'M10 12.5V2.8M6.6 6 10 2.6 13.4 6M6.2 9H4v8h12V9h-2.2',
  account: 'M10 10.2a3.4 3.4 0 1 0 0-6.8 3.4 3.4 0 0 0 0 6.8zM3.8 17.2c.6-2.9 3-4.4 6.2-4.4s5.6 1.5 6.2 4.4',
  help: 'M10 17.4a7.4 7.4 0 1 0 0-14.8 7.4 7.4 0 0 0 0 14.8zM7.9 8c.1-1.3 1-2 2.2-2s2.1.8 2.1 1.9c0 1.7-2.2 1.7-2.2 3.4M10 13.9h.01',
  earlier: 'm12 4-6 6 6 6',
  later: 'm8 4 6 6-6 6',
  refresh: 'M16 10a6 6 0 1 1-2-4.5M14.5 2.5v3.4h-3.4',
  fold: 'm5 12 5-5 5 5',
  play: 'M6.5 4v12l9-6z',
  pause: 'M7 4.5v11M13 4.5v11',
  close: 'm5 5 10 10M15 5 5 15',
};
type IconName = keyof typeof ICONS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}

type Attributes = AllHTMLAttributes<HTMLInputElement>;

/** A button with words; `price` follows them. */
export function Button({ price, children, ...rest }: Attributes & { price?: ComponentChildren }) {
  return (
    <button type="button" {...(rest as object)}>
      {children}
      {price && <span class="price"> · {price}</span>}
    </button>
  );
}

/** A button that is an icon. */
export function Tool({ icon, label, ...rest }: Attributes & { icon: IconName; label: string }) {
  return (
    <Button class="tool" aria-label={label} title={label} {...rest}>
      <Icon name={icon} />
    </Button>
  );
}

/** Opens a dialog. */
export const opening = (dialog: DialogId) => () => change({ dialog });

/** Words that are said when there are any. */
export function Say({ words, ...rest }: Attributes & { words: ComponentChildren }) {
  return (
    <p hidden={!words} {...(rest as object)}>
      {words}
    </p>
  );
}

/** A field with its label. */
export function Field({ label, set, ...rest }: Attributes & { label: string; set?: (value: string) => void }) {
  const onChange = ({ currentTarget }: { currentTarget: HTMLInputElement }) => set?.(currentTarget.value);
  return (
    <label class="row field">
      {label} <input autocomplete="off" onChange={onChange} {...(rest as object)} />
    </label>
  );
}

interface ChoiceProps extends Attributes {
  readonly label: string;
  /** Values with their words. */
  readonly options: readonly (readonly [value: number, words: string])[];
  readonly set?: (value: number) => void;
}

/** A choice among numbers. */
export function Choice({ label, options, set, ...rest }: ChoiceProps) {
  return (
    <label class="row field">
      {label}{' '}
      <select onChange={({ currentTarget }) => set?.(Number(currentTarget.value))} {...(rest as object)}>
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A box to tick, with its label. */
export function Toggle({ label, title, ...rest }: Attributes & { label: string }) {
  return (
    <label class="row" title={title}>
      <input type="checkbox" {...(rest as object)} /> {label}
    </label>
  );
}

/** Screens on which open cards would leave little of the map. */
const LITTLE_ROOM = matchMedia('(max-width: 699px), (max-height: 520px)').matches;
const FOLDED = 'hail.folded.';
const isFolded = (id: string, at_first: boolean) => (stored(FOLDED + id) ?? `${at_first}`) === 'true';
/** Cards that show less than they have; the browser remembers the reader's choice. */
export const folded = reactive({
  panel: isFolded('panel', LITTLE_ROOM),
  legend: isFolded('legend', true),
  layers: isFolded('layers', true),
});

/** A card over the map. */
export function Card({ id, label, class: more = '', children }: Attributes & { id: string; label: string }) {
  const isFolded = id in folded && folded[id as keyof typeof folded];
  return (
    <section id={id} class={`card ${isFolded ? 'folded' : ''} ${more}`} aria-label={label}>
      {children}
    </section>
  );
}

/** The button that folds and unfolds a card: with content the head of the card, without it a tab at its edge. */
export function Fold({
  card,
  label,
  children,
}: {
  card: keyof typeof folded;
  label?: string;
  children?: ComponentChildren;
}) {
  const fold = () => {
    folded[card] = !folded[card];
    store(FOLDED + card, `${folded[card]}`);
  };
  const named = { id: `${card}-fold`, 'aria-label': label, 'aria-expanded': !folded[card], 'aria-controls': card };
  return (
    <Button class={children ? 'row wide head' : 'fold'} onClick={fold} {...named}>
      {children}
      <Icon name="fold" />
    </Button>
  );
}

/** As `ref`: the element takes the focus when it appears. */
export const focus = (element: HTMLElement | null) => element?.focus();

/** A dot in the colour of a size or of a layer. */
export const Spot = ({ color }: { color: string }) => <span class="spot" style={{ background: color }} />;

/** Name and value, one pair below the other. */
export function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The words of a failed call; where another key may help, the reader is asked for one. */
function Refusal({ error }: { error: unknown }) {
  const needs_key = error instanceof ServiceError && error.needs_key;
  useEffect(() => {
    if (needs_key) askForKey();
  }, [error]);
  return (
    <>
      <p class="refused">{error instanceof Error ? error.message : String(error)}</p>
      {needs_key && <Button class="link" onClick={() => askForKey()} children="Enter a key" />}
    </>
  );
}

/** What a call answers, or why it does not, in a box of this id; an answer to what was cleared meanwhile is dropped. */
export function useAnswer(id: string) {
  const [content, show] = useState<ComponentChildren>(null);
  const [busy, setBusy] = useState(false);
  const turn = useRef(0);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (content !== null) box.current?.scrollIntoView({ block: 'nearest' });
  }, [content]);
  const clear = () => {
    turn.current++;
    show(null);
  };
  const ask = async (get: () => Promise<ComponentChildren>): Promise<void> => {
    const own = turn.current;
    setBusy(true);
    const found = await get().catch((error: unknown) => <Refusal error={error} />);
    setBusy(false);
    if (own === turn.current) show(found);
  };
  const shown = (
    <div id={id} class="answer" role="status" aria-busy={busy} ref={box}>
      {content}
    </div>
  );
  return { show, busy, clear, ask, box: shown };
}
