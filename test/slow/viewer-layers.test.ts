import { drawn, PHONE, serviceTest } from '../support/browser/browser.ts';

for (const [name, screen] of [
  ['phone', PHONE],
  ['side', { ...PHONE, viewport: { width: 844, height: 390 } }],
  ['small', { ...PHONE, viewport: { width: 320, height: 568 } }],
] as const)
  serviceTest(`probe ${name}`, { ...screen, path: '/viewer#view=scan&layers=hail,storms,warnings,outlooks' }, async (t, { page, complaints, picture }) => {
    await drawn(page);
    await page.waitForTimeout(2500);
    await picture(`${name}-folded`);
    const boxes = await page.evaluate(() => [...document.querySelectorAll('button, input, label, summary, a')].filter((e) => e.checkVisibility()).map((e) => { const b = e.getBoundingClientRect(); return [e.id || e.className || e.textContent, Math.round(b.x), Math.round(b.y), Math.round(b.width), Math.round(b.height)].join(' '); }));
    t.log(boxes.filter((b) => b.split(' ').slice(-2).map(Number).some((n) => n < 44)));
    t.log(await page.evaluate(() => ['panel', 'layers', 'legend', 'dock'].map((id) => { const b = document.getElementById(id)?.getBoundingClientRect(); return `${id} ${b?.left} ${b?.top} ${b?.right} ${b?.bottom}`; })));
    await page.touchscreen.tap(200, 330);
    await page.waitForTimeout(600);
    await picture(`${name}-facts`);
    await page.click('#layers-fold');
    await page.waitForTimeout(800);
    await picture(`${name}-open`);
    t.log(complaints);
    t.pass();
  });
