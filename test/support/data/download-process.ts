import { downloadAll } from '../../../pipeline/sources/bucket.ts';

/** Downloads one file and ends: the process that a test kills. Arguments: the listed file as JSON, the folder. */
const [file, folder] = process.argv.slice(2) as [string, string];
await downloadAll({ files: [JSON.parse(file)], folder });
