import { everySuite } from './suites/every.ts';
import { killSuite } from './suites/kill.ts';
import { onSqlite } from './world.ts';

everySuite(onSqlite);
killSuite(onSqlite);
