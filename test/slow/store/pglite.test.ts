import { everySuite } from '../../support/store/suites/every.ts';
import { sharedWindowsSuite } from '../../support/store/suites/shared-windows.ts';
import { onPglite } from '../../support/store/world.ts';

everySuite(onPglite);
sharedWindowsSuite(onPglite);
