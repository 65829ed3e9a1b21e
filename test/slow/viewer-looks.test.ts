import { violationsOn } from '../support/browser/axe.ts';
import { drawn, PHONE, ready, serviceTest } from '../support/browser/browser.ts';

const PINNED = '/viewer#view=scan&date=2026-05-02&pin=35.2000,-97.4000&map=8.00/35.2000/-97.4000';

for (const colorScheme of ['light', 'dark'] as const)
  serviceTest(
    `the map with its layers and a pinned place open, and the account, break no rule of accessibility, ${colorScheme}`,
    { is_shared: true, path: PINNED, colorScheme },
    async (t, { page, service, complaints, picture }) => {
      await drawn(page);
      t.true(await page.locator('#pin').isVisible());
      await page.locator('#layers-fold').click();
      await page.locator('#layers-body').waitFor();
      await picture(`cards-${colorScheme}`);
      t.deepEqual(await violationsOn(page), []);
      await page.goto(`${service.url}/viewer/account`);
      await ready(page);
      await picture(`account-${colorScheme}`);
      t.deepEqual(await violationsOn(page), []);
      t.deepEqual(complaints, []);
    },
  );

for (const [held, screen] of [
  ['on a desk', {}],
  ['on a narrow window', { viewport: { width: 900, height: 700 } }],
  ['on a phone', PHONE],
  ['on a phone on its side', { ...PHONE, viewport: { width: 844, height: 390 } }],
] as const)
  serviceTest(
    `no control sticks out of its card, and the tools lie apart from the cards, ${held}`,
    { ...screen, is_shared: true },
    async (t, { page }) => {
      await drawn(page);
      const faults = await page.evaluate(() => {
        const boxes = (selector: string) =>
          [...document.querySelectorAll(selector)]
            .filter((one) => one.checkVisibility())
            .map((one) => ({ one, name: one.id, box: one.getBoundingClientRect() }));
        const out = boxes('.card button:not(.fold), .card input, .card label, .card a').filter(({ one, box }) => {
          const card = (one.closest('.card') as Element).getBoundingClientRect();
          return (
            box.left < card.left - 1 ||
            box.right > card.right + 1 ||
            box.top < card.top - 1 ||
            box.bottom > card.bottom + 1
          );
        });
        const cards = boxes('#panel, #open-find, #find .bar, #tools, #layers, #legend, #dock, .maplibregl-ctrl-group');
        const over = cards.flatMap((a, i) =>
          cards
            .slice(i + 1)
            .filter(
              (b) =>
                a.box.left < b.box.right &&
                b.box.left < a.box.right &&
                a.box.top < b.box.bottom &&
                b.box.top < a.box.bottom,
            )
            .map((b) => `${a.name || a.one.className} lies on ${b.name || b.one.className}`),
        );
        return [...out.map(({ name, one }) => `${name || one.textContent} sticks out`), ...over];
      });
      t.deepEqual(faults, []);
    },
  );
