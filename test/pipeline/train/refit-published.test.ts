import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { PipelineError } from '../../../pipeline/error.ts';
import { publishedMaterial } from '../../../pipeline/run/published-material.ts';
import { sigmoid } from '../../../pipeline/train/logistic.ts';
import { ENOUGH, refitPublished } from '../../../pipeline/train/refit.ts';
import { reliabilitySvg } from '../../../pipeline/train/reliability-svg.ts';
import { fitSizeLaw, type ReportPair, reportPairs } from '../../../pipeline/train/report-pairs.ts';
import type { TrainingSample } from '../../../pipeline/train/train-model.ts';
import { START } from '../../support/data/parting.ts';
import { midnight, publishedRoot } from '../../support/data/world.ts';

const date = (n: number) => `2026-05-${String(1 + n).padStart(2, '0')}`;

/** So many pairs of radar and ProbSevere, dealt over dates. */
function samples(count: number, dates: number): TrainingSample[] {
  return Array.from({ length: count }, (_, n) => {
    const mesh_mm = 5 + ((n * 37) % 60);
    return {
      source: 'probsevere',
      group: date(n % dates),
      target: sigmoid(3 * Math.log(mesh_mm / 25.4)),
      predictors: {
        mesh_mm,
        posh_pct: null,
        vil_density_g_m3: null,
        echo_top_50_above_freezing_km: null,
        area_km2: null,
        growth_mm_per_min: null,
        duration_min: null,
      },
    };
  });
}

/** Reports that follow ln D = 1.5 + 0.5 ln MESH. */
function pairs(count: number, dates: number): ReportPair[] {
  return Array.from({ length: count }, (_, n) => {
    const mesh_mm = 10 + ((n * 13) % 50);
    return { date: date(n % dates), mesh_mm, size_mm: Math.exp(1.5 + 0.5 * Math.log(mesh_mm)) };
  });
}

async function target(t: ExecutionContext) {
  const out = await mkdtemp(join(tmpdir(), 'hail-refit-'));
  t.teardown(() => rm(out, { recursive: true }));
  return { out, seed: 1, date: '2026-06-01' };
}

test('too few pairs, or too few dates, change nothing and say what it takes', async (t) => {
  const { pairs: least, dates } = ENOUGH.probsevere;
  for (const material of [samples(least - 1, dates), samples(least, dates - 1)]) {
    const to = await target(t);
    const refit = await refitPublished(material, null, to);
    t.is(refit.report, null);
    t.is(refit.reports, null);
    t.like(refit.probsevere, { pairs: material.length, pairs_needed: least, dates_needed: dates, enough: false });
    t.deepEqual(await readdir(to.out), []);
  }
});

test('enough pairs of both kinds refit probability and size; the card says from how many', async (t) => {
  const to = await target(t);
  const reports = pairs(ENOUGH.reports.pairs, ENOUGH.reports.dates);
  const refit = await refitPublished(samples(ENOUGH.probsevere.pairs, ENOUGH.probsevere.dates), reports, to);
  t.true(refit.reports?.enough);
  t.deepEqual((await readdir(to.out)).sort(), ['hail-model.json', 'model-card.md', 'reliability.svg']);
  const { size_law } = JSON.parse(await readFile(join(to.out, 'hail-model.json'), 'utf8'));
  t.true(Math.abs(size_law.base - 1.5) < 1e-6 && Math.abs(size_law.slope - 0.5) < 1e-6);
  const card = await readFile(join(to.out, 'model-card.md'), 'utf8');
  t.true(card.includes('fitted to 300 ground reports'));
  t.false(card.includes('No ground report was used'));
  t.true(card.includes('![Reliability on cases held out](reliability.svg)'));
});

test('weights stay as they are when their card cannot be written', async (t) => {
  const to = await target(t);
  await mkdir(join(to.out, 'model-card.md'));
  await writeFile(join(to.out, 'hail-model.json'), 'those before');
  const refit = refitPublished(samples(ENOUGH.probsevere.pairs, ENOUGH.probsevere.dates), null, to);
  await t.throwsAsync(refit, { code: 'EISDIR' });
  t.is(await readFile(join(to.out, 'hail-model.json'), 'utf8'), 'those before');
  t.deepEqual(
    (await readdir(to.out)).filter((name) => name.endsWith('.part')),
    [],
  );
});

test('enough pairs of ProbSevere beside too few reports leave the law of sizes as it is', async (t) => {
  const to = await target(t);
  const refit = await refitPublished(samples(ENOUGH.probsevere.pairs, ENOUGH.probsevere.dates), pairs(10, 5), to);
  t.false(refit.reports?.enough);
  t.false('size_law' in JSON.parse(await readFile(join(to.out, 'hail-model.json'), 'utf8')));
});

test('every date left out is judged by a model and by a law that never saw it', async (t) => {
  const refit = await refitPublished(samples(ENOUGH.probsevere.pairs, ENOUGH.probsevere.dates), null, await target(t));
  const unseen = refit.report?.unseen ?? [];
  t.is(unseen.length, ENOUGH.probsevere.dates);
  t.true(unseen.every(({ law, printed_law }) => law < 0.005 && printed_law > 0.02)); // the samples follow another law
});

test('a report goes with the largest MESH within 8 km and a quarter of an hour, and with none farther off', (t) => {
  const at = { lat: 38, lon: -97 };
  const report = { storm_date: '2026-05-01', time: START, size_mm: 25.4, ...at };
  const seen = (minutes: number, lat: number, estimated_size_mm: number) => ({
    scan_time: START + minutes * 60_000,
    lat,
    lon: -97,
    estimated_size_mm,
  });
  const near = [seen(-14, 38.05, 30), seen(5, 38.01, 20), seen(16, 38, 90), seen(0, 38.1, 80)];
  t.deepEqual(reportPairs([report], near), [{ date: '2026-05-01', mesh_mm: 30, size_mm: 25.4 }]);
  t.deepEqual(reportPairs([report], near.slice(2)), []);
});

test('the card of published pairs says nothing of simulations, of few dates, or of objects that the printed law saw', async (t) => {
  const to = await target(t);
  await refitPublished(samples(ENOUGH.probsevere.pairs, ENOUGH.probsevere.dates), null, to);
  const card = await readFile(join(to.out, 'model-card.md'), 'utf8');
  t.true(card.includes('the model imitates another model there.\n'));
  for (const untrue of ['Simulated targets', 'In the simulator', 'few', 'has seen it', 'these very objects'])
    t.false(card.includes(untrue), untrue);
});

for (const [what, poisoned] of [
  ['fall with MESH', ({ mesh_mm }: ReportPair) => 1000 / mesh_mm],
  ['are nothing', ({ mesh_mm }: ReportPair) => (mesh_mm > 30 ? 0 : mesh_mm)],
] as const)
  test(`reports whose sizes ${what} are refused, and nothing is written`, async (t) => {
    const to = await target(t);
    const reports = pairs(ENOUGH.reports.pairs, ENOUGH.reports.dates);
    const wrong = reports.map((pair) => ({ ...pair, size_mm: poisoned(pair) }));
    const refit = refitPublished(samples(ENOUGH.probsevere.pairs, ENOUGH.probsevere.dates), wrong, to);
    await t.throwsAsync(refit, {
      instanceOf: PipelineError,
      message: /^train size law: sizes of 300 reports go with MESH/,
    });
    t.deepEqual(await readdir(to.out), []);
  });

test('no law of sizes follows from one MESH alone', (t) => {
  t.is(fitSizeLaw([]), null);
  t.is(fitSizeLaw(pairs(1, 1)), null);
});

test('simulated dates are counted and teach nothing; without a list of reports there is none', async (t) => {
  const found = await publishedMaterial(await publishedRoot(t, await midnight()));
  t.deepEqual(found, { dates: [], simulated_dates: 2, samples: [], report_pairs: null });
});

test('the diagram has a circle for every bin and one for the legend, and no raw markup of its titles', (t) => {
  const bins = [
    { cases: 100, forecast: 0, observed: 0 },
    { cases: 25, forecast: 1, observed: 0.5 },
  ];
  const svg = reliabilitySvg('a < b', [{ title: 'storms & hail', bins }]);
  t.is(svg.match(/<circle /g)?.length, 3);
  t.true(svg.includes('cx="376.0" cy="200.0" r="6.0"'));
  t.true(svg.includes('a &lt; b') && svg.includes('storms &amp; hail, 125 cases held out'));
});
