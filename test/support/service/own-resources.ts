import { createArea, NO_LABELS } from '../../../api/records/areas.ts';
import { SELF_HOSTED } from '../../../api/records/plans.ts';
import type { Writer } from '../../../api/records/records.ts';
import { polygonShape } from '../../../api/rules/area-geometry.ts';
import { SQUARE } from './areas.ts';
import type { DescribedOperation } from './document.ts';
import type { RunningService } from './service.ts';

/** Makes what paths with a beginning name, free of charge, and returns the values of their parameters. */
const MAKERS: readonly [path: string, make: (writer: Writer) => Promise<Record<string, string>>][] = [
  ['/v1/areas/{id}', makePolygon],
];

/** What the path of an operation names, made for a business: values of its parameters; none where it names nothing of its own. */
export async function ownFor(
  { path }: Pick<DescribedOperation, 'path'>,
  { records, services }: Pick<RunningService, 'records' | 'services'>,
  business_id: string,
): Promise<Record<string, string>> {
  const make = MAKERS.find(([beginning]) => path.startsWith(beginning))?.[1];
  if (make === undefined) return {};
  return await records.transaction((rows) => make({ rows, business_id, now_ms: services.now() }));
}

async function makePolygon(writer: Writer): Promise<Record<string, string>> {
  const shape = polygonShape(SQUARE.map(([lon, lat]) => [lon, lat]));
  if ('reason' in shape) throw new Error(`the square is no area: ${shape.reason}`);
  const said = { kind: 'polygon', name: 'yard', real_time: false, purpose: 'monitoring', group_id: null } as const;
  const { id } = await createArea(writer, { ...said, ...NO_LABELS, shape }, SELF_HOSTED.quotas);
  return { id };
}
