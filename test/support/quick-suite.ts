import { quickSuite } from './groups.ts';

console.log(quickSuite().join('\n'));
