/*
 * What the cards and dialogs of the page are made of.
 */
import type { AllHTMLAttributes, ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ServiceError } from '../data/service.ts';
import { askForKey } from '../site.ts';
import { change, type DialogId, reactive } from '../state.ts';

/** A symbol of the page (index.html) of this name. */
export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" aria-hidden="true">
      <use href={`#icon-${name}`} />
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
export function Tool({ icon, label, ...rest }: Attributes & { icon: string; label: string }) {
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

interface FieldProps extends Attributes {
  readonly label: string;
  readonly set?: (value: string) => void;
  /** Values with their words, to choose among, and the one that is chosen at first. */
  readonly options?: readonly (readonly [value: number, words: string])[];
  readonly usual?: number;
}

/** A field with its label. */
export function Field({ label, set, options, usual, ...rest }: FieldProps) {
  const onChange = ({ currentTarget }: { currentTarget: HTMLInputElement }) => set?.(currentTarget.value);
  const is = { onChange, autocomplete: 'off', ...rest } as object;
  const choices = options?.map(([value, words]) => (
    <option key={value} value={value} selected={value === usual}>
      {words}
    </option>
  ));
  return (
    <label class="row field" for={rest.id}>
      {label} {choices ? <select {...is}>{choices}</select> : <input {...is} />}
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
export const LITTLE_ROOM = matchMedia('(max-width: 759px), (max-height: 520px)').matches;
/** Cards that show less than they have. */
export const folded = reactive({ panel: LITTLE_ROOM, legend: true, layers: true });

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
export function Fold({ card, label, children }: Attributes & { card: keyof typeof folded }) {
  const fold = () => Object.assign(folded, { [card]: !folded[card] });
  const named = { id: `${card}-fold`, 'aria-label': label, 'aria-expanded': !folded[card], 'aria-controls': card };
  return (
    <Button class={children ? 'row wide head' : 'fold'} onClick={fold} {...named}>
      {children}
      <Icon name="fold" />
    </Button>
  );
}

/** What the fields of a form hold that is sent, by name; the page stays. */
export function sent(event: SubmitEvent): Record<string, string> {
  event.preventDefault();
  const fields = [...new FormData(event.currentTarget as HTMLFormElement)];
  return Object.fromEntries(fields.map(([name, value]) => [name, String(value).trim()]));
}

/** As `ref`: the element takes the focus when it appears. */
export const focus = (element: HTMLElement | null) => element?.focus();

/** A dot in the colour of a size or of a layer. */
export const Spot = ({ color }: { color: string }) => <span class="spot" style={{ background: color }} />;

/** Name and value, one pair below the other. */
export function Facts({ id, rows }: { id?: string; rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl id={id}>
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
function refusal(error: unknown) {
  const needs_key = error instanceof ServiceError && error.needs_key;
  if (needs_key) askForKey();
  return (
    <>
      <p class="refused">{error instanceof Error ? error.message : String(error)}</p>
      {needs_key && <Button class="link" onClick={() => askForKey()} children="Enter a key" />}
    </>
  );
}

const LOADING = 'Loading …';

/** What a call answers, or why it does not, in a box of this id. */
export function useAnswer(id: string) {
  const [content, show] = useState<ComponentChildren>(null);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (content !== null) box.current?.scrollIntoView({ block: 'nearest' });
  }, [content]);
  const ask = async (get: () => Promise<ComponentChildren>): Promise<void> => {
    show(LOADING);
    show(await get().catch(refusal));
  };
  const shown = (
    <div id={id} class="answer" role="status" ref={box}>
      {content}
    </div>
  );
  return { busy: content === LOADING, ask, show, box: shown };
}
