/** Process that makes what the map page finds places in, and prints it: a second of work, and 200 MB that end with it. */
import { findablePlaces, findableZips } from './places.ts';

process.stdout.write(
  JSON.stringify({ places: JSON.stringify(findablePlaces()), zips: JSON.stringify(findableZips()) }),
);
