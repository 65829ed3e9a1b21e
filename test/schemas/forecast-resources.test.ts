import test from 'ava';
import { ForecastHour, ForecastPeak, HailForecast, modelName, modelSource } from '../../schemas/resources/forecast.ts';
import { HailOutlook, OutlookDay } from '../../schemas/resources/outlook.ts';

for (const [name, schema] of Object.entries({ ForecastHour, ForecastPeak, OutlookDay }))
  test(`the example of ${name} is one`, (t) => {
    t.notThrows(() => schema.parse(schema.meta()?.example));
  });

test('a simulated run never bears the name of the real model alone, a real one nothing else', (t) => {
  t.is(modelName('hrrr', true), 'simulated-hrrr');
  t.is(modelName('hrrr', false), 'hrrr');
  t.regex(modelSource('hrrr', true), /simulated/);
  t.notRegex(modelSource('hrrr', false), /simulated/);
});

test('a forecast outside the area of any model has no hours, no peak and no model', (t) => {
  t.notThrows(() =>
    HailForecast.parse({
      location: { lat: 10, lon: 10, geohash4: 's1z0' },
      model: { name: null, run_time: null, source: null },
      peak: null,
      hourly: [],
      count: 0,
    }),
  );
});

test('an outlook that is not covered has no cell and no days', (t) => {
  const location = { lat: 10, lon: 10 };
  t.notThrows(() => HailOutlook.parse({ location, covered: false, cell: null, outlook: [], data_as_of: null }));
});

test('a day of the outlook has 24 hours or none', (t) => {
  const example = OutlookDay.meta()?.example as Record<string, unknown>;
  t.notThrows(() => OutlookDay.parse({ ...example, hourly: new Array(24).fill(0.4) }));
  t.throws(() => OutlookDay.parse({ ...example, hourly: new Array(23).fill(0.4) }));
});
