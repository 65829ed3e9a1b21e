import { readFileSync } from 'node:fs';

/*
 * Loaded before a command with --import, in place of a fixed data clock: the clock shows CLOCK_FROM_MS and goes on from there, put forward by the
 * milliseconds that the file CLOCK_AHEAD_MS_IN holds at the time.
 */
const from_ms = Number(process.env.CLOCK_FROM_MS);
const file = process.env.CLOCK_AHEAD_MS_IN as string;
const started_ms = performance.now();
delete process.env.HAIL_NOW;
Date.now = () => Math.floor(from_ms + performance.now() - started_ms + Number(readFileSync(file, 'utf8')));
