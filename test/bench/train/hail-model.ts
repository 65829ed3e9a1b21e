import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import type { HailModel } from '../../../pipeline/detect/predict.ts';
import { type SampleSource, type TrainingReport, type TrainingSample, trainModel } from './train-model.ts';

/** Version of the fit and its material: 60 simulated evenings, and ProbSevere objects of two dates. */
const VERSION = 'hail-lr-1.2+sim+ps';
const SEED = 1;
const CASES = join(import.meta.dirname, 'cases.csv');

/** Fits the hail model to its cases and prints its scores; `--out FILE` writes it as `hail-model.json`. */
export async function hailModel(args: string[]): Promise<void> {
  const command = new Command('hail-model').option('--out <file>', 'file to write the weights to');
  const { out } = command.parse(args, { from: 'user' }).opts<{ out?: string }>();
  const { text, report } = fitHailModel();
  for (const [source, { cases, groups, brier, skill_climatology, skill_start, ece }] of Object.entries(report.held_out))
    console.log(
      `hail-model: ${source}, ${cases} held-out cases in ${groups} groups: Brier ${brier.toFixed(4)}, skill ${skill_climatology.toFixed(3)} over ` +
        `base rate, ${skill_start.toFixed(3)} over one-variable law, calibration error ${ece.toFixed(3)}`,
    );
  if (out !== undefined) await writeFile(out, text);
}

/** Fit of the stored cases, and the text of its file. */
export function fitHailModel(): { readonly model: HailModel; readonly report: TrainingReport; readonly text: string } {
  const { model, report } = trainModel(readCases(), { version: VERSION, seed: SEED });
  return { model, report, text: `${JSON.stringify({ ...model, training: report }, null, 1)}\n` };
}

/** Cases of `cases.csv`; an empty field is an unknown predictor. */
function readCases(): TrainingSample[] {
  const [, ...lines] = readFileSync(CASES, 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [source, group, target, mesh_mm, ...others] = line.split(',');
    const [posh_pct, echo_top_50_above_freezing_km, area_km2, growth_mm_per_min, duration_min] = others.map((field) =>
      field === '' ? null : Number(field),
    ) as (number | null)[];
    return {
      source: source as SampleSource,
      group: group as string,
      target: Number(target),
      predictors: {
        mesh_mm: Number(mesh_mm),
        posh_pct: posh_pct as number | null,
        echo_top_50_above_freezing_km: echo_top_50_above_freezing_km as number | null,
        area_km2: area_km2 as number | null,
        growth_mm_per_min: growth_mm_per_min as number | null,
        duration_min: duration_min as number | null,
      },
    };
  });
}
