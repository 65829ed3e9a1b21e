import { everySuite } from '../../support/store/suites/every.ts';
import { onPglite } from '../../support/store/world.ts';

everySuite(onPglite);
