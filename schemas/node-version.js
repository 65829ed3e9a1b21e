// Plain JavaScript with old syntax only: it must run on a Node that cannot parse the rest of the project.
import { readFileSync } from 'node:fs';

/** Why this Node cannot run the project, in one sentence; null when it can. */
export function nodeFault() {
  const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const expected = engines.node.replace('>=', '').split('.').map(Number);
  const found = process.versions.node.split('.').map(Number);
  const isOld = found[0] === expected[0] ? found[1] < expected[1] : found[0] < expected[0];
  if (!isOld) return null;
  return `Node is ${process.versions.node}, expected ${engines.node}: make and npx run the one that 'make install' puts in place`;
}
