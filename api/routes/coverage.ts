import { z } from 'zod';
import { COVERAGE_EXAMPLE, Coverage } from '../../schemas/resources/detection-quality.ts';
import { pointQuery } from '../http/decode.ts';
import { monthOfYear, qualityAt, qualityNote } from '../rules/detection-quality.ts';
import { outsideNote } from '../rules/outside.ts';
import { roundedPosition } from '../rules/rounded.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

export const getCoverage = readEndpoint({
  route: 'GET /v1/coverage',
  group: 'Hail detection',
  summary: 'How well radar sees hail at a point',
  description:
    'Radar-geometry detection-quality prior for a point in the present UTC month. It is the same for every day of the month and looks at no observation. beam_blockage is 1 until a terrain model is worked in; the note says which one is.',
  scope: 'coverage:read',
  query: z.object(pointQuery),
  reply: Coverage,
  example: COVERAGE_EXAMPLE,
  price: flatPrice('coverage.get', 5),
  reads_dates: false,
  plan: ({ now_ms, services: { terrain } }) => {
    const [month, model] = [monthOfYear(now_ms), terrain.model()];
    return { dates: [], month, model, version: `month ${month} terrain ${model?.version}` };
  },
  answer: async ({ query: { lat, lon }, plan: { month, model } }) => {
    const { covered, block } = qualityAt({ lat, lon }, month, model);
    const notes = [qualityNote(model, block.beam_height_m !== null), outsideNote('radar', { lat, lon }) ?? []];
    const note = notes.flat().join(' ');
    return { body: { location: roundedPosition({ lat, lon }), covered, month, detection_quality: block, note } };
  },
});
