import { element } from './page.ts';

const STORAGE_NAME = 'hail.folded.';

/** A part of the page that its button folds and unfolds. */
export interface Fold {
  set(open: boolean): void;
  readonly isOpen: () => boolean;
}

/**
 * Makes a button fold and unfold the card around it; the browser remembers the choice.
 *
 * `id`: of the card; its button is `<id>-fold`.
 */
export function openFold(id: string, is_open_at_first: boolean): Fold {
  const card = element(id);
  const button = element<HTMLButtonElement>(`${id}-fold`);
  const isOpen = () => button.getAttribute('aria-expanded') === 'true';
  const show = (open: boolean) => {
    button.setAttribute('aria-expanded', String(open));
    card.classList.toggle('folded', !open);
  };
  const set = (open: boolean) => {
    show(open);
    localStorage.setItem(STORAGE_NAME + id, open ? 'no' : 'yes');
    dispatchEvent(new Event('resize'));
  };
  const kept = localStorage.getItem(STORAGE_NAME + id);
  show(kept === null ? is_open_at_first : kept === 'no');
  button.addEventListener('click', () => set(!isOpen()));
  return { set, isOpen };
}
