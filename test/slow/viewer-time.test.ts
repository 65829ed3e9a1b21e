import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { Page } from 'playwright-core';
import { type Blob, drawnScan } from '../support/data/drawn-scans.ts';
import { ingest, onRoot, type RawScan, SCRATCH, filesOf, preparedRoot, scansBetween } from '../support/data/world.ts';
import { drawn, PHONE, said, serviceTest } from '../support/browser/browser.ts';

const evening = (from: string, to: string) => async () => preparedRoot(await scansBetween(from, to));

serviceTest(
  'at 00:10 UTC the first screen shows the scans and the hail of both dates of the last 24 hours',
  { root: evening('23:20', '00:10'), now_ms: Date.parse('2026-05-02T00:10:00Z'), timezoneId: 'America/New_York' },
  async (t, { page, complaints, picture }) => {
    await page.waitForTimeout(800);
    await picture('at-0010');
    await page.click('#open-calendar');
    await page.waitForTimeout(800);
    await picture('calendar');
    await page.click('#close-calendar');
    await page.click('#view-scan');
    await drawn(page);
    await page.waitForTimeout(500);
    await picture('scan-0010');
    t.deepEqual(complaints, []);
    t.log(await said(page, '#panel'), page.url());
  },
);
serviceTest(
  'phone',
  { ...PHONE, root: evening('23:20', '00:10'), now_ms: Date.parse('2026-05-02T00:10:00Z'), timezoneId: 'America/New_York' },
  async (t, { page, complaints, picture }) => {
    await page.waitForTimeout(800);
    await picture('phone-0010');
    await page.click('#open-calendar');
    await page.waitForTimeout(800);
    await picture('phone-calendar');
    await page.click('#close-calendar');
    await page.click('#view-scan');
    await drawn(page);
    await page.waitForTimeout(500);
    await picture('phone-scan');
    t.deepEqual(complaints, []);
  },
);
