import type { ScanField } from '../../pipeline/grid.ts';
import {
  COUNTRY,
  coresIn,
  overlap,
  PLAINS,
  realFrames,
  trackFrames,
  velocityNow,
  wholeObjects,
} from '../support/data/real-frames.ts';

const LEADS_MIN = [4, 5, 8, 10, 14, 15, 20];

/** Every second frame. */
const thinned = (frames: readonly ScanField[]) => frames.filter((_, k) => k % 2 === 0);

/** Overlap of real cores moved forward: without motion, by the pattern around each, and by the published motion of their tracks. */
export async function motion(): Promise<void> {
  const [states, alps] = [realFrames('mrms-sequence'), realFrames('mch-sequence')];
  const evenings = {
    'southern Plains 2019, 2 min': coresIn(states, PLAINS),
    'United States 2019, 2 min': coresIn(states, COUNTRY),
    'the same every 4 min': coresIn(thinned(states), COUNTRY),
    'the same from 30 mm/h on': coresIn(states, COUNTRY, { min_tenths: 300 }),
    'Switzerland 2015, 5 min': coresIn(alps, COUNTRY),
    'Switzerland 2015 from 30 mm/h on': coresIn(alps, COUNTRY, { min_tenths: 300 }),
    'the same every 10 min': coresIn(thinned(alps), COUNTRY, { min_tenths: 300 }),
  };
  console.log(`motion: overlap (CSI) after minutes    ${LEADS_MIN.map((lead) => String(lead).padStart(6)).join('')}`);
  for (const [name, frames] of Object.entries(evenings)) {
    const steps = trackFrames(frames);
    for (const [by, objects] of Object.entries({
      none: wholeObjects(steps, () => null),
      pattern: wholeObjects(steps, ({ pattern_motions }, k) => pattern_motions[k]),
      tracks: wholeObjects(steps, ({ owners }, k) => velocityNow(owners[k])),
    })) {
      const scores = LEADS_MIN.map((lead) => overlap(objects, lead));
      const line = scores.map((score) => (Number.isNaN(score) ? '' : score.toFixed(3).slice(1)).padStart(6)).join('');
      console.log(`  ${name.padEnd(34)}${by.padEnd(8)}${line}`);
    }
  }
}
