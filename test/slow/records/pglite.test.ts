import { everySuite } from '../../records/suites/every.ts';
import { onPglite } from '../../records/world.ts';

everySuite(onPglite);
