import { everySuite } from './suites/every.ts';
import { onPglite } from './world.ts';

everySuite(onPglite);
