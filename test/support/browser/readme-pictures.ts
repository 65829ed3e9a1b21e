/**
 * Draws the two pictures of the README with the map page in Chromium, into `data/examples/`:
 * `node test/support/browser/readme-pictures.ts`.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { PROJECT } from '../data/markdown.ts';
import { sharedData } from '../data/shared-folder.ts';
import { type CommandName, runCommand } from '../kill/command.ts';
import { startServe } from '../service/serve-child.ts';
import { ARGUMENTS, CHROMIUM, PATIENCE_MS } from './chromium.ts';

const SCREEN = { width: 1200, height: 800 };
const DAY_MAXIMUM = 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2';
/** Octet of the parameter number in section 4 of GRIB2, counted from the section's first. */
const PARAMETER_OCTET = 10;
/** Parameter numbers of MRMS products in discipline 209, category 3. */
const MESH = 28;

/** A picture: how its data root is made, and what the map shows of it. */
interface Picture {
  readonly name: string;
  readonly now: string;
  readonly hash: string;
  readonly publish: (folder: string, run: (args: readonly string[]) => Promise<void>) => Promise<void>;
}

const PICTURES: readonly Picture[] = [
  {
    name: 'map-simulated-2026-05-01.png',
    now: '2026-05-02T00:05:00Z',
    hash: 'view=day&date=2026-05-01&map=7.5/35.85/-97.45',
    publish: (_, run) => run(['ingest', '--seed', '7', '--hours', '4']),
  },
  {
    name: 'map-noaa-2024-02-28.png',
    now: '2024-02-28T10:05:00Z',
    hash: 'view=day&date=2024-02-28&map=7.5/41.5/-88.7',
    publish: async (folder, run) => {
      mkdirSync(folder);
      writeFileSync(
        join(folder, 'MRMS_MESH_00.50_20240228-100000.grib2'),
        asScan(readFileSync(sharedData('mrms', DAY_MAXIMUM))),
      );
      await run(['ingest', '--source', 'dir', '--from', folder]);
    },
  },
];

/** The maximum of 24 hours under the product number of a scan: every size, place and the time stay. */
function asScan(file: Buffer): Buffer {
  const out = Buffer.from(file);
  // Section 0 has 16 octets; a section begins with its length (4 octets) and number.
  let at = 16;
  while (out.readUInt8(at + 4) !== 4) at += out.readUInt32BE(at);
  out.writeUInt8(MESH, at + PARAMETER_OCTET);
  return out;
}

async function draw({ name, now, hash, publish }: Picture): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'hail-picture-'));
  const root = join(work, 'data');
  const environment = { HAIL_DATA: root, HAIL_NOW: now };
  const run = async (args: readonly string[], command: CommandName = 'hail-pipeline') => {
    const { code, told } = await runCommand(command, args, environment);
    if (code !== 0) throw new Error(`${command} ${args[0]}: exit code ${code}: ${told}`);
  };
  await publish(join(work, 'raw'), run);
  const service = await startServe(root, Date.parse(now), 'error');
  const browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: ARGUMENTS });
  try {
    const page = await browser.newPage({ viewport: SCREEN });
    page.setDefaultTimeout(PATIENCE_MS);
    await page.addInitScript((key) => localStorage.setItem('hail.key', key), service.keys?.live ?? '');
    await page.goto(`${service.url}/viewer#${hash}`);
    await page.waitForSelector('html[data-ready=true]', { state: 'attached' });
    await page.waitForSelector('#clock:not(.loading)');
    await page.waitForTimeout(3000);
    await page.screenshot({ path: join(PROJECT, 'data/examples', name) });
  } finally {
    await browser.close();
    await service.end('SIGTERM');
    rmSync(work, { recursive: true });
  }
}

for (const picture of PICTURES) await draw(picture);
