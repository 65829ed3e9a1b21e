import { Command } from 'commander';
import { columns } from '../../schemas/command-line.ts';
import type { Config } from '../config.ts';
import { type ScoreReport, scoreDate } from '../run/score-date.ts';
import { calendarDate } from './arguments.ts';

interface Options {
  readonly date: string;
  readonly json?: true;
}

/** `hail-pipeline score`: verification of the tracks and nowcasts of a storm date. */
export function scoreCommand(config: () => Config): Command {
  return new Command('score')
    .description('judge the tracks and courses of a storm date by what came, and publish the scores')
    .requiredOption('--date <date>', 'storm date, YYYY-MM-DD', calendarDate)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The scores replace those of the date before. A date that got more scans since is worth scoring again; where scans of it are
made again, its scores go with the old ones.

Examples:
  hail-pipeline score --date 2026-05-20
  hail-pipeline score --date 2026-05-20 --json`,
    )
    .action(async ({ date, json }: Options) => {
      const report = await scoreDate(config(), date);
      process.stdout.write(json ? `${JSON.stringify(report)}\n` : scoreText(report));
    });
}

function scoreText({ storm_date, scores, path, changed }: ScoreReport): string {
  if (path === null) {
    const before = changed ? ' The scores published before are taken off.' : '';
    return `Nothing to score: ${storm_date} has no storm that can be judged.${before}\n`;
  }
  const rows = scores.map(({ kind, score, lead_min, n, value, baseline }) => [
    kind,
    score,
    lead_min === null ? '' : `${lead_min} min`,
    String(n),
    value.toFixed(3),
    baseline === null ? '' : baseline.toFixed(3),
  ]);
  const head = ['kind', 'score', 'lead', 'n', 'value', 'left where it is'];
  return [
    columns([head, ...rows], 'llrrrr'),
    changed ? `Published in ${path}` : `Nothing new: ${path} holds these scores.`,
    '',
  ].join('\n');
}
