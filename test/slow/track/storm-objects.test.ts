import { stormLinks } from '../../bench/storm-links.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { stormObjects } from '../../support/data/storm-objects.ts';

for (const [day, links] of [
  ['20211011', 622],
  ['20220720', 904],
] as const)
  sharedTest(
    `NOAA's storm objects of ${day} that change their shape keep their track, and take no other's`,
    async (t) => {
      const found = stormLinks(await stormObjects(sharedData('probsevere'), day));
      t.is(found.links, links);
      t.true(found.cut <= 0.06 * found.links, `${found.cut} of ${found.links} links cut`);
      t.true(
        found.joined_otherwise <= 0.015 * found.joined,
        `${found.joined_otherwise} of ${found.joined} joined otherwise`,
      );
    },
  );
