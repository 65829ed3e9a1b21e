import type { HailMap } from '../map/map.ts';
import { element, onClick } from './page.ts';

const COPIED_MS = 2500;

/** Link and print of what the map shows. */
export function connectSharing({ map }: HailMap): void {
  const dialog = element<HTMLDialogElement>('share');
  const link = element<HTMLInputElement>('share-link');
  const note = element('share-note');
  const printed = element<HTMLImageElement>('printed');
  const say = (words: string) => {
    note.textContent = words;
  };

  onClick('open-share', () => {
    link.value = location.href;
    say('');
    dialog.showModal();
  });
  onClick('close-share', () => dialog.close());
  onClick('copy-link', () => {
    // The clipboard is closed to pages that come without TLS: the selected text can be copied by hand.
    link.select();
    const copied = navigator.clipboard?.writeText(link.value) ?? Promise.reject(new Error('no clipboard'));
    copied.then(
      () => {
        say('Copied.');
        setTimeout(() => say(''), COPIED_MS);
      },
      () => say('The link is selected; copy it with your keyboard.'),
    );
  });
  onClick('print-map', () => {
    dialog.close();
    print();
  });
  addEventListener('beforeprint', () => {
    // A picture of this moment: the drawing of the map is gone from its canvas when this task ends.
    map.redraw();
    printed.src = map.getCanvas().toDataURL('image/png');
    printed.alt = document.title;
  });
  addEventListener('afterprint', () => printed.removeAttribute('src'));
}
