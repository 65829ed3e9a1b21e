import { everySuite } from '../support/store/suites/every.ts';
import { killSuite } from '../support/store/suites/kill.ts';
import { onSqlite } from '../support/store/world.ts';

everySuite(onSqlite);
killSuite(onSqlite);
