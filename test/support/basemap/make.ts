/** Makes the base map and the places of the map page from packages: `npm run basemap`, whenever one of them or a module here changes. */
import { writeFileSync } from 'node:fs';
import { findablePlaces, findableZips } from './places.ts';
import { groundArchive } from './tiles.ts';

const write = (name: string, content: string | Uint8Array) =>
  writeFileSync(new URL(`../../../data/reference/${name}`, import.meta.url), content);

write('ground.pmtiles', groundArchive());
write('places.json', JSON.stringify(findablePlaces()));
write('zips.json', JSON.stringify(findableZips()));
