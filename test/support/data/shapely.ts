import test, { type ExecutionContext } from 'ava';
import { askPython } from './ask-python.ts';
import { hasSharedData } from './shared-folder.ts';

/** What shapely says of one geometry. */
interface ShapelyAnswer {
  readonly is_valid: boolean;
  readonly has_positive_area: boolean;
  /** For each place asked about: inside, outside, or too near to the edge to ask (1e-9 degrees). */
  readonly places: readonly ('inside' | 'outside' | 'edge')[];
}

export interface ShapelyQuestion {
  readonly wkt: string;
  readonly places: readonly (readonly [lon: number, lat: number])[];
}

const PROGRAM = `
import json, sys
from shapely import wkt
from shapely.geometry import Point
from shapely.prepared import prep
answers = []
for question in json.load(sys.stdin):
    shape = wkt.loads(question["wkt"])
    held, edge = prep(shape), shape.boundary
    def where(lon, lat):
        point = Point(lon, lat)
        if edge.distance(point) < 1e-9:
            return "edge"
        return "inside" if held.contains(point) else "outside"
    answers.append({"is_valid": shape.is_valid, "has_positive_area": shape.area > 0,
                    "places": [where(lon, lat) for lon, lat in question["places"]]})
print(json.dumps(answers))
`;

/** Answers of shapely, one for each question, or null where Python or shapely is not installed. */
export function askShapely(questions: readonly ShapelyQuestion[]): ShapelyAnswer[] | null {
  return askPython(PROGRAM, JSON.stringify(questions)) as ShapelyAnswer[] | null;
}

/** Registers a test on real files that shapely judges, too; where one is absent it shows as skipped, with the reason in its title. */
export function shapelyTest(title: string, body: (t: ExecutionContext) => void | Promise<void>): void {
  if (hasSharedData && askShapely([]) !== null) test(title, body);
  else test.skip(`${title} (needs ${hasSharedData ? 'python3-shapely' : '../shared/data'}, which is absent)`, body);
}
