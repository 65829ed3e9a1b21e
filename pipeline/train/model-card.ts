import { FEATURES, type HailModel, modelProbability } from '../detect/hail-model.ts';
import { meshAlone } from './samples.ts';
import type { Metrics } from './skill.ts';
import { MISSING_RIDGE, PRINTED_LAW_DATES, type SampleSource, type TrainingReport } from './train-model.ts';

const SIZES_MM = [10, 15, 19, 25.4, 30, 38, 50, 63];

export const SOURCE_TITLES: Readonly<Record<SampleSource, string>> = {
  simulated: 'simulated evenings',
  probsevere: 'ProbSevere objects',
};

/** Model card in Markdown: purpose, training data, predictors, skill and limitations of the model. */
export function modelCard(model: HailModel, report: TrainingReport, date: string, report_pairs = 0): string {
  const { samples, groups, held_out } = report;
  return `# Model card: ${model.version}

Written by \`hail-pipeline train\` on ${date}, together with the weights in \`hail-model.json\`.

## What it is

\`ml_probability\`: the probability of hail >= 25.4 mm (1 inch) with a storm within the next 60 minutes. A logistic
regression of six predictors, then a rising calibration curve of ${model.curve.score.length} knots. No deep learning. Where a ProbSevere
object of NOAA/CIMSS matches the storm, the published number is that object's ProbHail and \`model_version\` is
\`probsevere-2\` or \`probsevere-3\`; this model speaks where there is none, and bounds it where the cell's peak is below
half of the object's MESH.

${sizeText(model, report_pairs)} It is not a largest size. \`estimated_size_mm\` (MESH), POSH, VIL, echo tops and reflectivity are NOAA's
own values. \`confidence\` is a logistic with weights set by judgement, not fitted to anything.

## What is assumed, and on what evidence

| number | how it is made | evidence |
| --- | --- | --- |
| \`ml_probability\` | fitted, as this card says | the cases held out below; no ground report |
| \`ml_predicted_size_mm\` | ${sizeAssumption(model, report_pairs)} |
| \`confidence\` of a detection | logistic with weights by judgement | none |
| steps of a storm in the hourly forecast | judgement, anchored to the climatology of reports | summed over real fields they expect about as many reports as such hours and days bring; no season of reports was fitted |
| weights of the sources in the seven-day outlook | judgement | none |
| built-in rates and seasons of the climatology | judgement | months of most hail as published climatologies have them; counts of reports, for the order of magnitude |
| nowcast | fitted apart from this model | its own figures: \`quality\` in \`nowcast-model.json\` beside this card |

## Intended use

Ranking and screening storms, and filling in where ProbSevere is missing. Not for decisions about safety of life, and
not evidence that hail fell at an address.

## Material

| source | cases | groups held out together |
| --- | --- | --- |
| simulated evenings of our own | ${samples.simulated} | ${groups.simulated} evenings |
| ProbSevere objects >= 3 mm, not flagged | ${samples.probsevere} | ${groups.probsevere} UTC dates |

${
  report_pairs > 0
    ? `- ${report_pairs} ground reports fitted the size, none the probability.`
    : '- **No ground report was used.** No national archive of reports went into it.'
}
${targetsText(report)}- Every case counts the same, and cases of one storm depend on one another.
- SHA-256 of the material: \`${report.training_sha256}\`. Seed ${report.seed}.

## Predictors

A weight is per standard deviation of its predictor. A missing value is taken at its mean at such a MESH
(base + slope x ln MESH), and its shift is added to the score: cases without the value differ from cases with it at the
same MESH. The shift of all missing values together is fitted with a penalty of ${MISSING_RIDGE}, chosen by the scores of version 1.2
on cases held out; its division among them, by the size of their weights, is an assumption. Weights of intensity that
came out negative were set to 0: those predictors only repeat the others. The probability never falls when MESH rises.

| predictor | known in | weight | mean | scale | range | missing | shift |
| --- | --- | --- | --- | --- | --- | --- | --- |
${FEATURES.map((feature) => {
  const { weight, mean, scale, low, high, missing } = model.terms[feature];
  const cells = [
    feature,
    String(report.known[feature]),
    weight.toFixed(3),
    mean.toFixed(3),
    scale.toFixed(3),
    `${low.toFixed(2)} to ${high.toFixed(2)}`,
    `${missing.base.toFixed(2)} + ${missing.slope.toFixed(2)} ln MESH`,
    missing.shift.toFixed(3),
  ];
  return `| ${cells.join(' | ')} |`;
}).join('\n')}

VIL density is no predictor. ${VIL_DENSITY_JUDGED}

Beside a MESH alone, with everything else missing:

| MESH mm | ${SIZES_MM.join(' | ')} |
| --- | ${SIZES_MM.map(() => '---').join(' | ')} |
| probability | ${SIZES_MM.map((mesh_mm) => onMeshAlone(model, mesh_mm).toFixed(2)).join(' | ')} |

## Skill on cases held out

Every group is judged by a model that never saw it. Intervals are 5-95 % over resampled groups; with two groups they
mean little. The one-variable law is sigma(a + b ln(MESH/25.4)), fitted anew for every group without it, as the model is.
The storm objects of spring 2015 (the test data of hagelslag) carry MESH as their truth and cannot judge this model: no
figure is given for them.

![Reliability on cases held out](reliability.svg)
${unseenSection(report.unseen)}

${Object.entries(held_out)
  .map(([source, metrics]) => skillSection(SOURCE_TITLES[source as SampleSource], metrics))
  .join('\n\n')}

## Known failures

- Tall storms in warm, moist air are over-called; rotating storms with much rain are under-called; MESH itself tells sizes
  above 50 mm badly apart.
- Close to a radar the top of the storm is not seen (cone of silence); behind terrain and beyond 150 km the low part.
${samples.simulated > 0 ? '- In the simulator strong storms are certain to keep their life cycle; the real chance of decay is larger.\n' : ''}- A storm seen for the first time has no growth and no past: both are taken at their mean.
- Outside the ranges above a predictor is held at the nearest value known, and the answer is marked out of range.
  Probabilities stay within .005 and .995.

## How to refit

\`npx hail-pipeline train --evenings 60 --probsevere DIR\` writes both files again. With
\`npx hail-pipeline train --from-published\` it learns from the observed dates of a data root: the probability from storm
cells and the ProbSevere objects they lie in, the size from cells and ground reports, once there are enough of both.
`;
}

/** Why a likely predictor is left out: errors of version 1.0 with and without it, on the same cases. */
const VIL_DENSITY_JUDGED = `Judged with version 1.0 on ProbSevere objects of a date left out (60 evenings of the simulator of
that time and the other date fitted), the root mean squared error was .107 with it and .087 without for 2021-10-11,
.103 and .116 for 2022-07-20, .105 and .105 for both together. It earned nothing, and ProbSevere measures it otherwise than the radar grids do.`;

/** Fewer dates than this are reported as few. */
const DATES_MIN = 10;

/** Limitations of the targets, one point for each source with samples. */
function targetsText({ samples, groups }: TrainingReport): string {
  const simulated = `- Simulated targets follow from the simulator's own law of sizes on the ground, ln D = 1.18 + 0.62 ln MESH + 0.28 N, at
  the largest MESH the storm shows in the next 60 minutes. Finding that law again is a closed loop, not evidence.
  The simulator decides how storms grow and last; real ones differ.
`;
  const few = groups.probsevere < DATES_MIN ? ` There are few dates: ${groups.probsevere}.` : '';
  const probsevere = `- ProbSevere targets are ProbHail: the model imitates another model there.${few}\n`;
  return `${samples.simulated > 0 ? simulated : ''}${samples.probsevere > 0 ? probsevere : ''}`;
}

function onMeshAlone(model: HailModel, mesh_mm: number): number {
  return modelProbability(model, meshAlone(mesh_mm)).probability;
}

function sizeText({ size_law }: HailModel, report_pairs: number): string {
  return size_law
    ? `\`ml_predicted_size_mm\` is fitted to ${report_pairs} ground reports beside the largest MESH near them: exp(${size_law.base.toFixed(2)} + ${size_law.slope.toFixed(2)} ln MESH),
held within 5-120 mm, the median size a ground report would give.`
    : `\`ml_predicted_size_mm\` is not fitted: exp(1.18 + 0.62 ln MESH), held within 5-120 mm, the median size a ground report
would give.`;
}

/** How the size is made, and on what evidence, as cells of a table. */
function sizeAssumption({ size_law }: HailModel, report_pairs: number): string {
  return size_law ? `law fitted | ${report_pairs} ground reports` : 'assumed law, fitted to nothing | none';
}

/** Section with the errors on ProbSevere dates held out from both sides; '' without any. */
function unseenSection(dates: TrainingReport['unseen']): string {
  if (dates.length === 0) return '';
  const rows = dates.map(({ date, cases, model, law, printed_law }) => {
    const seen = PRINTED_LAW_DATES.includes(date) ? ', has seen it' : '';
    return [date, cases, model.toFixed(3), law.toFixed(3), `${printed_law.toFixed(3)}${seen}`].join(' | ');
  });
  return `
Root mean squared error on ProbSevere objects of a date that was left out of the fit. The law as it is printed,
sigma(-0.26 + 3.63 ln(MESH/25.4)), was fitted on the objects of ${PRINTED_LAW_DATES.join(' and ')}: its figures
for dates that it has seen are no comparison.

| date left out | objects | model | law fitted without the date | law as printed |
| --- | --- | --- | --- | --- |
${rows.map((row) => `| ${row} |`).join('\n')}
`;
}

function skillSection(title: string, metrics: Metrics): string {
  const interval = ([low, high]: readonly [number, number]) => `${low.toFixed(2)} to ${high.toFixed(2)}`;
  return `### ${title}

| cases | groups | base rate | Brier score | skill over base rate | skill over one-variable law | calibration error |
| --- | --- | --- | --- | --- | --- | --- |
| ${metrics.cases} | ${metrics.groups} | ${metrics.base_rate.toFixed(3)} | ${metrics.brier.toFixed(4)} | ${metrics.skill_climatology.toFixed(3)} (${interval(metrics.skill_climatology_interval)}) | ${metrics.skill_start.toFixed(3)} (${interval(metrics.skill_start_interval)}) | ${metrics.ece.toFixed(3)} |

| forecast | ${metrics.reliability.map(({ forecast }) => forecast.toFixed(2)).join(' | ')} |
| --- | ${metrics.reliability.map(() => '---').join(' | ')} |
| observed | ${metrics.reliability.map(({ observed }) => observed.toFixed(2)).join(' | ')} |`;
}
