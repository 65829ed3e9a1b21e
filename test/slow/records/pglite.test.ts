import { everySuite } from '../../support/records/suites/every.ts';
import { onPglite } from '../../support/records/world.ts';

everySuite(onPglite);
