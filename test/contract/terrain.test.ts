import test from 'ava';
import { coverage } from '../../api/routes/coverage.ts';
import { hailCurrent } from '../../api/routes/hail-current.ts';
import { hailHistory } from '../../api/routes/hail-history.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { Coverage } from '../../schemas/resources/coverage.ts';
import { HailCurrent } from '../../schemas/resources/hail-cell.ts';
import { HailHistory } from '../../schemas/resources/history-event.ts';
import { publishBlockage, raysOfKtlx } from '../support/data/terrain.ts';
import { midnight, publishedRoot } from '../support/data/world.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const NOW_MS = Date.parse('2026-05-02T00:12:00Z');
const AROUND = 'lat=35.2&lon=-97&radius_km=100&detail=advanced';
/** 0.3 of every radar's lowest beam is blocked in all directions: none sees better than another. */
const EVERYWHERE = WSR88D.flatMap(({ id }) =>
  raysOfKtlx([{ tilt_deg: 0.5, distance_km: 1, blocked: 0.3 }], 0, 359).map((step) => ({ ...step, radar_id: id })),
);

const ask = async (service: RunningService, path: string) => {
  const response = await service.call(path);
  if (response.status !== 200) throw new Error(`${path} answers ${response.status} ${await response.text()}`);
  return { etag: response.headers.get('etag'), body: await response.json() };
};

test('every answer with a detection-quality block follows the terrain model, and so does its ETag', async (t) => {
  const data_root = await publishedRoot(t, await midnight());
  const service = await startService({ endpoints: [coverage, hailCurrent, hailHistory], data_root, now_ms: NOW_MS });
  t.teardown(() => service.close());
  const places = async () => {
    const current = await ask(service, `/v1/hail/current?${AROUND}`);
    const history = await ask(service, `/v1/hail/history?${AROUND}`);
    const { cells } = HailCurrent.parse(current.body);
    const { events } = HailHistory.parse(history.body);
    t.true(cells.length > 3 && events.length > 0);
    return {
      tags: [current.etag, history.etag],
      blocks: [
        ...cells.slice(0, 5).map(({ lat, lon, detection_quality }) => ({ lat, lon, block: detection_quality })),
        ...events.map(({ location: { lat, lon }, detection_quality }) => ({ lat, lon, block: detection_quality })),
      ],
    };
  };
  const before = await places();
  await publishBlockage(data_root, EVERYWHERE);
  await service.services.catalog.refresh();
  const after = await places();
  for (const [index, tag] of before.tags.entries()) t.not(after.tags[index], tag);
  for (const [index, { lat, lon, block }] of after.blocks.entries()) {
    const free = before.blocks[index]?.block;
    t.is(free?.components.beam_blockage, 1);
    t.is(block?.components.beam_blockage, 0.7);
    t.true((block?.hdqi ?? 1) < (free?.hdqi ?? 0));
    t.deepEqual(
      block,
      Coverage.parse((await ask(service, `/v1/coverage?lat=${lat}&lon=${lon}`)).body).detection_quality,
    );
  }
  t.deepEqual(service.failures, []);
});
