import type { HailMap } from '../map/map.ts';
import { element, onClick } from './page.ts';
import { drawPicture } from './picture.ts';

const COPIED_MS = 2500;
const PRINTED = 'printed';

/** Link, picture and print of what the map shows. */
export function connectSharing({ map }: HailMap): void {
  const dialog = element<HTMLDialogElement>('share');
  const link = element<HTMLInputElement>('share-link');
  const note = element('share-note');
  const printed = element<HTMLImageElement>(PRINTED);

  /** A picture of this moment: the drawing of the map is gone from its canvas when this task ends. */
  const picture = (): HTMLCanvasElement => {
    map.redraw();
    return drawPicture(map.getCanvas());
  };
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
  onClick('save-picture', () => {
    picture().toBlob((blob) => {
      if (blob === null) return say('The picture is too large for this browser.');
      const address = URL.createObjectURL(blob);
      const anchor = document.createElement('a');
      anchor.href = address;
      anchor.download = `${fileName()}.png`;
      anchor.click();
      URL.revokeObjectURL(address);
    }, 'image/png');
  });
  onClick('print-map', () => {
    dialog.close();
    print();
  });
  addEventListener('beforeprint', () => {
    printed.src = picture().toDataURL('image/png');
    printed.alt = document.title;
  });
  addEventListener('afterprint', () => printed.removeAttribute('src'));
}

/** Name of a saved picture, of the title of the page: `hail-of-1-may-2026`. */
function fileName(): string {
  return document.title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
