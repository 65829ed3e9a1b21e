import { http } from './bench/http.ts';

await http(process.argv.slice(2));
