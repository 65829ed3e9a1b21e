// hyparquet: follows a STAC catalogue on the disk to the swaths of every storm date, and reads their rows.
// node data/examples/stac.js data/stac/catalog.json
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';

const [start = `${process.env.HAIL_DATA ?? 'data'}/stac/catalog.json`] = process.argv.slice(2);
const queue = [pathToFileURL(resolve(start))];
for (const address of queue) {
  const { links, collection, properties, assets } = JSON.parse(readFileSync(address, 'utf8'));
  const below = links.filter(({ rel }) => rel === 'child' || rel === 'item');
  queue.push(...below.map(({ href }) => new URL(href, address)));
  if (assets === undefined || collection !== 'swaths') continue;
  for (const asset of Object.values(assets)) {
    const file = await asyncBufferFromFile(fileURLToPath(new URL(asset.href, address)));
    const columns = ['threshold_mm', 'category', 'area_km2'];
    for (const { threshold_mm, category, area_km2 } of await parquetReadObjects({ file, compressors, columns }))
      console.log(`${properties.title}: ${Math.round(area_km2)} km2 of ${threshold_mm} mm, ${category}`);
  }
}
