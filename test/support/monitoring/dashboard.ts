import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

export const MONITORING = new URL('../../../data/examples/deploy/monitoring/', import.meta.url);

const Panel = z.object({
  title: z.string(),
  type: z.string(),
  description: z.string().optional(),
  gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
  targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).default([]),
  fieldConfig: z.object({ defaults: z.object({ unit: z.string() }) }).optional(),
});
type Panel = z.infer<typeof Panel>;

/** Panels of the dashboard, rows included. */
export function dashboardPanels(): Panel[] {
  const text = readFileSync(new URL('grafana-dashboard.json', MONITORING), 'utf8');
  return z.object({ panels: z.array(Panel) }).parse(JSON.parse(text)).panels;
}

const Rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          labels: z.object({ severity: z.enum(['page', 'ticket']) }),
          annotations: z.object({ summary: z.string() }),
        }),
      ),
    }),
  ),
});

/** Alert rules as they are shipped. */
export function alertRules() {
  const text = readFileSync(new URL('rules.yml', MONITORING), 'utf8');
  return Rules.parse(parse(text)).groups.flatMap(({ rules }) => rules);
}
