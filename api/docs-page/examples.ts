import { make } from './dom.ts';

const STORAGE_NAME = 'hail.language';
const SHOWN_COPIED_MS = 1500;

/** Shows all examples in the language that was chosen at one of them, on the next visit too. */
export function shareLanguage(): void {
  const choices = [...document.querySelectorAll<HTMLInputElement>('.example input[type=radio]')];
  const choose = (language: string | null) => {
    for (const choice of choices) if (choice.value === language) choice.checked = true;
  };
  choose(localStorage.getItem(STORAGE_NAME));
  for (const choice of choices)
    choice.addEventListener('change', () => {
      const top = choice.getBoundingClientRect().top;
      choose(choice.value);
      localStorage.setItem(STORAGE_NAME, choice.value);
      // Examples above may have become longer: the one that was chosen at stays where it is.
      scrollBy({ top: choice.getBoundingClientRect().top - top, behavior: 'instant' });
    });
}

/** Puts a button to copy into every example. */
export function offerCopies(): void {
  for (const example of document.querySelectorAll<HTMLElement>('.example')) {
    const button = make('button', { type: 'button', className: 'copy', textContent: 'Copy' });
    button.addEventListener('click', () => void copy(example, button));
    example.querySelector('fieldset')?.append(button);
  }
}

async function copy(example: HTMLElement, button: HTMLButtonElement): Promise<void> {
  const language = example.querySelector<HTMLInputElement>('input:checked')?.value ?? '';
  const text = example.querySelector(`pre[data-language="${language}"]`)?.textContent ?? '';
  const isCopied = await navigator.clipboard.writeText(text).then(
    () => true,
    () => false, // the browser does not allow it, as on a page without https
  );
  button.textContent = isCopied ? 'Copied' : 'Not allowed';
  setTimeout(() => {
    button.textContent = 'Copy';
  }, SHOWN_COPIED_MS);
}
