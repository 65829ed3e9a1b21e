/** Thread that makes what the map page finds places in, and posts it: a second of work, and 200 MB that end with it. */
import { parentPort } from 'node:worker_threads';
import { findablePlaces, findableZips } from './places.ts';

parentPort?.postMessage({ places: JSON.stringify(findablePlaces()), zips: JSON.stringify(findableZips()) });
