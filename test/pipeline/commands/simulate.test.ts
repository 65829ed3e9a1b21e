import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { simulateCommand } from '../../../pipeline/commands/simulate.ts';
import type { Config } from '../../../pipeline/config.ts';
import { UsageError } from '../../../pipeline/error.ts';
import { LATTICES } from '../../../schemas/geo/lattice.ts';

const config = (): Config => ({
  lattice: LATTICES.conus,
  data_root: '/nowhere',
  mrms_url: 'https://mrms.example',
  web: { spc_url: '', lsr_url: '', nws_url: '', user_agent: 'test' },
  model: { name: 'hrrr', url: '' },
  storm_day_start_hour: 0,
  raw_keep_days: null,
  reflectivity_keep_hours: 0,
  catalogues: [],
  clock_is_fixed: true,
  metrics: { host: '127.0.0.1', port: null, folder: null },
  log_level: 'silent',
  now: () => Date.parse('2026-05-02T01:00:00Z'),
});

async function run(...words: readonly string[]): Promise<void> {
  await simulateCommand(config).exitOverride().parseAsync(words, { from: 'user' });
}

for (const [words, message] of [
  [[], /^--out is missing/],
  [['--out', 'x', '--seed', '-1'], /^--seed is '-1', expected a whole number/],
  [['--out', 'x', '--seed', '1.5'], /^--seed is '1\.5'/],
  [['--out', 'x', '--hours', '0'], /^--hours is '0', expected a number above 0/],
  [['--out', 'x', '--hours', '3h'], /^--hours is '3h'/],
  [
    ['--out', 'x', '--from', '2026-02-30T00:00:00Z'],
    /^--from is '2026-02-30T00:00:00Z', expected an instant that exists/,
  ],
  [['--out', 'x', '--from', '2026-05-01'], /^--from is '2026-05-01'/],
  [['--out', 'x', '--to', '2026-05-01T20:00:00Z'], /^--to is given without --from/],
  [['--out', 'x', '--from', '2026-05-01T20:00:00Z', '--to', '2026-05-01T20:00:00Z'], /expected a time after --from/],
  [
    ['--out', 'x', '--hours', '1', '--from', '2026-05-01T20:00:00Z', '--to', '2026-05-01T22:00:00Z'],
    /^--hours and --to are both given/,
  ],
  [['--out', 'x', '--region', 'texas'], /^--region is 'texas', expected plains, conus, or W,S,E,N/],
  [['--out', 'x', '--region', '-94,33,-100,38'], /with W < E and S < N$/],
  [['--out', 'x', '--region', '-200,33,-100,38'], /the grid of the radars$/],
  [['--out', 'x', '--region', '-100,33,-99.9,38'], /at least half a degree/],
  [['--out', 'x', '--day-type', 'sunny'], /^--day-type is 'sunny', expected one of quiet, pulse/],
  [['--out', 'x', '--products', 'MESH,SNOW'], /^--products names 'SNOW', expected some of MESH,POSH/],
] as const)
  test(`refused before any work: simulate ${words.join(' ')}`, async (t) => {
    await t.throwsAsync(run(...words), { instanceOf: UsageError, message });
  });

test('a region is written from one time to another, and the last hours by default', async (t) => {
  const out = await mkdtemp(join(tmpdir(), 'hail-simulate-'));
  t.teardown(() => rm(out, { recursive: true }));
  const place = ['--out', out, '--region', '-100,34,-97,36', '--products', 'MESH', '--no-feeds', '--json'];
  await run(...place, '--hours', '0.1');
  const [date, ...others] = await readdir(join(out, 'CONUS', 'MESH_00.50'));
  t.deepEqual([date, others], ['20260502', []]);
  await run(...place, '--from', '2026-05-01T23:00:00Z', '--hours', '0.1');
  t.deepEqual((await readdir(join(out, 'CONUS', 'MESH_00.50'))).sort(), ['20260501', '20260502']);
});
