import { reportPdf } from '../../api/pdf/report-pdf.ts';
import { pagesIn } from '../support/data/pdf-reading.ts';
import { claimMaterial, longMaterial } from '../support/data/report-material.ts';

const RUNS = 15;
const GOAL_MS = 300;

/** Documents of a typical claim and of the longest range, pixels and reports on each of its dates. */
export async function report(): Promise<void> {
  for (const [what, material] of [
    ['3 events', claimMaterial()],
    ['90 events, 2,000 pixels and 3 reports each', longMaterial(90, 2000, 3)],
  ] as const) {
    const times_ms: number[] = [];
    const cpu_ms: number[] = [];
    let pdf = await reportPdf(material);
    for (let run = 0; run < RUNS; run++) {
      const started = performance.now();
      const used = process.cpuUsage();
      pdf = await reportPdf(material);
      const { user, system } = process.cpuUsage(used);
      times_ms.push(performance.now() - started);
      cpu_ms.push((user + system) / 1000);
    }
    console.log(
      `report: ${what}: median ${median(times_ms).toFixed(0)} ms (${median(cpu_ms).toFixed(0)} ms of processor time; goal ${GOAL_MS} ms), ${pagesIn(pdf)} pages, ${Math.round(pdf.length / 1000)} kB`,
    );
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}
