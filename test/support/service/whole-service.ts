import { basename } from 'node:path';
import { EARLIER, EARLIER_DESCRIPTION, EARLIER_ENDPOINTS } from '../../../api/legacy/variants.ts';
import { openApiDocument } from '../../../api/routes/files.ts';
import { ENDPOINTS } from '../../../api/routes/index.ts';
import { describeApi } from '../../../api/server/openapi.ts';
import { publishWholeClimatology } from '../data/climatology.ts';
import { alertsFile, layerFile, publishFeeds, ringOf, watchFile } from '../data/feeds.ts';
import { forecastRows, outlookRows, publishForecast, publishOutlook } from '../data/model-rows.ts';
import { copyFolder, prepared } from '../data/prepared.ts';
import { midnight, NOW_MS, onRoot, ownCopy, preparedRoot } from '../data/world.ts';
import { type ApiDescription, type DescribedOperation, operationsOf, parseDescription } from './document.ts';
import { type RunningService, startService } from './service.ts';
import { receivers } from './webhooks.ts';

/** A data clock one minute after the last scan of the world around midnight: its hail is live. */
export const WHOLE_NOW_MS = Date.parse('2026-05-02T00:12:00Z');
const BASE_URL = 'http://127.0.0.1:8080/v1';

/** The service with all its endpoints and its description, over the tiny world. */
export interface WholeService {
  readonly service: RunningService;
  readonly description: ApiDescription;
  readonly operations: readonly DescribedOperation[];
  /** The same of the earlier variant. */
  readonly earlier: Pick<WholeService, 'description' | 'operations'>;
  /** Values for examples: a storm that is there at the data clock, and a last date that is not yet to come. */
  readonly known: Readonly<Record<string, string>>;
}

let published: Promise<string> | undefined;

/** A data root with twelve scans around a midnight, their climatology, and feeds of the same storms, the same for all tests of a file; not to be written to. */
export function wholeRoot(): Promise<string> {
  published ??= publishWhole();
  return published;
}

async function publishWhole(): Promise<string> {
  const root = ownCopy(await withClimatology(await preparedRoot(await midnight())));
  await publishCollections(root);
  return root;
}

/** Publishes a warning, a watch, an outlook and forecasts over the storms around midnight, the same for every data root. */
async function publishCollections(root: string): Promise<void> {
  const box = [-98, 34.5, -96.5, 36] as const;
  const warning = { id: 'urn:oid:sim.1', sent: '2026-05-02T00:00:00Z', ends: '2026-05-02T00:45:00Z', box };
  const outlook = { day: 1, word: 'cat', issue: '202605012000', valid: '202605012000', expire: '202605021200' };
  const files = [
    alertsFile(WHOLE_NOW_MS, { ...warning, properties: { sender: 'simulated' } }),
    watchFile({ number: 159, from: '012000', to: '020300', office: 'KSIM' }, box, WHOLE_NOW_MS),
    layerFile({ ...outlook, areas: [['SLGT', ringOf(box)]], simulated: true, received_ms: WHOLE_NOW_MS }),
  ];
  await publishFeeds(root, files, WHOLE_NOW_MS);
  const cell = { geohash4: '9y68', data_source: 'simulated' } as const;
  await publishForecast(root, forecastRows(cell, '2026-05-01T18:00:00Z', 48), WHOLE_NOW_MS);
  await publishOutlook(root, outlookRows(cell, '2026-05-01'), WHOLE_NOW_MS);
}

/** A data root with the climatology of its dates, as an ingest leaves it; made once for all test processes. */
function withClimatology(root: string): Promise<string> {
  return prepared(`${basename(root)}-climatology`, async (folder) => {
    copyFolder(root, folder);
    await onRoot(folder, {}, (opened) => publishWholeClimatology(opened.root, NOW_MS));
  });
}

/** Starts the service with everything it has. */
export async function startWholeService(): Promise<WholeService> {
  const document = describeApi(ENDPOINTS, BASE_URL);
  const own_path = '/legacy/v1/openapi.json';
  const earlier = describeApi(EARLIER_ENDPOINTS, BASE_URL, EARLIER_DESCRIPTION);
  const service = await startService({
    data_root: await wholeRoot(),
    now_ms: WHOLE_NOW_MS,
    webhookClient: receivers(),
    app: { publicRoutes: [openApiDocument(document), openApiDocument(earlier, own_path)], variants: [EARLIER] },
  });
  try {
    const described = async (path: string) => {
      const description = parseDescription(await service.json(path, { key: null }));
      return { description, operations: operationsOf(description) };
    };
    const current = await described('/v1/openapi.json');
    return { service, ...current, earlier: await described(own_path), known: await knownOf(service) };
  } catch (error) {
    await service.close();
    throw error;
  }
}

async function knownOf(service: RunningService): Promise<Record<string, string>> {
  const storms = await service.call('/v1/storms?lat=35.2&lon=-97&radius_km=150');
  if (!storms.ok) throw new Error(`the list of storms answers ${storms.status} ${await storms.text()}`);
  const { cells } = (await storms.json()) as { cells: { track_id: string }[] };
  const first = cells.find(({ track_id }) => track_id.startsWith('20260501-')); // the examples ask for that date
  if (first === undefined) throw new Error('the tiny world has no storm of 1 May at its data clock');
  return { track_id: first.track_id, date_end: '2026-05-02' };
}
