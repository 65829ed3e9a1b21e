import { alertFile } from './alert-file.ts';
import { outlookFiles } from './outlook-files.ts';
import { reportFiles, type TextFile } from './report-files.ts';
import type { Scenario } from './scenario.ts';
import { watchFiles } from './watch-files.ts';

/**
 * What the other feeds would say at `to_ms` about the weather of [from_ms, to_ms): reports where hail fell, warnings ahead of
 * storms, watches and outlooks around them. In the formats of their sources, and marked as simulated as each format allows.
 * `scan_times` are those of all scans there are of the days that [from_ms, to_ms) touches: reports are of these times.
 */
export function feedFiles(
  scenario: Scenario,
  from_ms: number,
  to_ms: number,
  scan_times: readonly number[],
): TextFile[] {
  return [
    ...reportFiles(scenario, from_ms, to_ms, scan_times),
    alertFile(scenario, to_ms),
    ...watchFiles(scenario, to_ms),
    ...outlookFiles(scenario, to_ms),
  ];
}
