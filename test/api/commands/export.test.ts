import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { drawTenths } from '../../support/data/draw.ts';
import { publishDays, standingHail } from '../../support/data/published-days.ts';
import { operator } from '../../support/service/run-command.ts';

const DAY = '2026-05-01';

test.serial(
  'export writes a file whole, leaves one that exists alone, and refuses what contradicts itself',
  async (t) => {
    const { config, run, json, path } = operator(t);
    const field = drawTenths([[250, 300]], { row0: 1500, col0: 3000 });
    const rows = standingHail(DAY, field, [Date.parse(`${DAY}T20:00:00Z`)]);
    await publishDays(config.data_root, [{ storm_date: DAY, rows }], 'simulated', config.now_ms);
    const out = path('rows.csv');
    const asked = ['export', 'detections', DAY, DAY, '--format', 'csv', '--out', out];
    t.deepEqual(await json(...asked), {
      ...{ file: out, row_count: 2, truncated: false, data_source: 'simulated', dates_without_data: [], note: null },
    });
    t.is(readFileSync(out, 'utf8').split('\r\n').length, 4);

    const month = ['export', 'detections', DAY, '2026-05-31', '--format', 'geojson', '--out', path('month.geojson')];
    t.like(await json(...month, '--bbox=-130,20,-66,50'), { row_count: 2 });
    t.deepEqual(JSON.parse(readFileSync(path('month.geojson'), 'utf8')).query, {
      ...{ date_start: DAY, date_end: '2026-05-20', bbox: [-125, 24, -66, 50], state: null },
    });

    writeFileSync(out, 'mine');
    t.like(await run(...asked), { code: 4, err: `hail-api: export ${out}: exists, expected a new file or --force\n` });
    t.is(readFileSync(out, 'utf8'), 'mine');
    t.like(await run(...asked, '--force', '--state', 'NE'), {
      out: `Wrote 0 rows to ${out}, simulated.\n`,
    });
    execFileSync('mkfifo', [path('pipe')]);
    for (const special of [path('pipe'), config.data_root]) {
      const { code, err } = await run(...asked.slice(0, -1), special, '--force');
      t.deepEqual([code, err], [4, `hail-api: export ${special}: is no file, expected one or none\n`]);
    }
    t.true(statSync(path('pipe')).isFIFO());
    const never = await run('export', 'reports', DAY, DAY, '--format', 'geojson', '--out', path('r.geojson'));
    t.regex(never.out, /Note: no ground report was ever taken in/);
    const long_ago = ['1998-05-15', '1998-05-16', '--format', 'csv', '--out', path('long-ago.csv')];
    t.regex((await run('export', 'swaths', ...long_ago)).out, /no scan of these dates was taken in/);

    for (const [wrong, message] of [
      [['export', 'hail', DAY, DAY], /Found 'hail', expected detections, swaths, reports/],
      [['export', 'swaths', DAY, '2026-04-31'], /Found '2026-04-31', expected a date/],
      [['export', 'swaths', DAY, '2026-04-30'], /last date 2026-04-30 is before the first/],
      [['export', 'swaths', DAY, '2026-06-01'], /are over 31 dates/],
      [
        ['export', 'swaths', '2026-05-21', '2026-05-22'],
        /date_start is 2026-05-21, expected at most today, 2026-05-20 UTC/,
      ],
      [['export', 'swaths', DAY, DAY, '--state', 'XX'], /It is 'XX', expected a two-letter USPS state code/],
      [['export', 'swaths', DAY, DAY, '--state', 'KS', '--bbox=-99,39,-98,40'], /expected one of them/],
    ] as const) {
      const { code, err } = await run(...wrong, '--format', 'csv', '--out', path('wrong.csv'));
      t.is(code, 2);
      t.regex(err, message);
    }
    t.false(existsSync(path('wrong.csv')));
    t.like(await run(...asked.slice(0, -1), path('none/rows.csv')), {
      code: 3,
      err: `hail-api: export ${path('none/rows.csv')}: there is no folder ${path('none')}, expected one\n`,
    });
    t.deepEqual(
      readdirSync(config.data_root).filter((name) => name.startsWith('.hail-export')),
      [],
    );
  },
);
