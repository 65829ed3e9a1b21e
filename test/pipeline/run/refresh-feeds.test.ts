import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { readConfig } from '../../../pipeline/config.ts';
import { silent } from '../../../pipeline/log.ts';
import { takeFeedFolder } from '../../../pipeline/run/refresh-feeds.ts';

const LIST = 'Time,Size,Location,County,State,Lat,Lon,Comments\n';

test('a file of a folder that is too large is refused by its size, unread, and costs itself only', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hail-feed-folder-'));
  const data = mkdtempSync(join(tmpdir(), 'hail-feed-root-'));
  t.teardown(() => [folder, data].map((path) => rmSync(path, { recursive: true })));
  writeFileSync(join(folder, 'alerts.json'), '');
  truncateSync(join(folder, 'alerts.json'), 65 * 1024 * 1024);
  writeFileSync(join(folder, '260501_rpts_hail.csv'), `${LIST}2010,175,2 N NORMAN,CLEVELAND,OK,35.20,-97.40,HAIL.\n`);
  const config = readConfig({ HAIL_DATA: data, HAIL_NOW: '2026-05-01T23:00:00Z' });
  const { files, changed } = await takeFeedFolder(config, folder, silent);
  t.deepEqual(changed, ['reports']);
  const refused = files.find(({ name }) => name === 'alerts.json')?.refused ?? '';
  t.is(refused, '68157440 bytes, expected at most 67108864');
});
