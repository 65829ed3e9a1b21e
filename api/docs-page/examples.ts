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

/** Puts a button to copy into every example and every block of code. Browsers give pages without https no access to the clipboard. */
export function offerCopies(): void {
  if (!isSecureContext) return;
  for (const example of document.querySelectorAll<HTMLElement>('.example'))
    example.querySelector('fieldset')?.append(copyButton(() => shownCode(example)));
  for (const figure of document.querySelectorAll<HTMLElement>('figure.code'))
    figure.append(copyButton(() => figure.querySelector('code')?.textContent ?? ''));
}

/** Code of an example in the language that is chosen. */
function shownCode(example: HTMLElement): string {
  const language = example.querySelector<HTMLInputElement>('input:checked')?.value ?? '';
  return example.querySelector(`pre[data-language="${language}"]`)?.textContent ?? '';
}

function copyButton(textOf: () => string): HTMLButtonElement {
  const button = make('button', { type: 'button', className: 'copy', textContent: 'Copy' });
  button.addEventListener('click', () => void copy(textOf(), button));
  return button;
}

async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  const isCopied = await navigator.clipboard.writeText(text).then(
    () => true,
    () => false, // the reader or the browser does not allow it
  );
  button.textContent = isCopied ? 'Copied' : 'Not allowed';
  setTimeout(() => {
    button.textContent = 'Copy';
  }, SHOWN_COPIED_MS);
}
