-- DuckDB, started in the data root: duckdb < hail-days.sql
-- The hail of every published storm date, from the files that the manifests list.

-- Open dates are read through the manifest that current.json names, all others through their newest one, head.json.
SET VARIABLE open_lists = (
  SELECT coalesce(list(format('manifests/{}/{:06d}.json', pinned.key, pinned.value)), [])
  FROM (SELECT unnest(map_entries(open_dates)) AS pinned
        FROM read_json('current.json', columns = {open_dates: 'MAP(VARCHAR, INTEGER)'}))
);
CREATE TEMP TABLE listed AS
  WITH lists AS (
    FROM read_json('manifests/????-??-??/head.json',
      columns = {partition: 'VARCHAR', closed: 'BOOLEAN', source: 'VARCHAR',
                 files: 'STRUCT("table" VARCHAR, path VARCHAR, "rows" BIGINT)[]'})
    WHERE closed
    UNION ALL
    FROM read_json(list_concat(getvariable('open_lists'), ['current.json']),
      columns = {partition: 'VARCHAR', closed: 'BOOLEAN', source: 'VARCHAR',
                 files: 'STRUCT("table" VARCHAR, path VARCHAR, "rows" BIGINT)[]'})
    WHERE partition IS NOT NULL
  )
  SELECT partition AS storm_date, source, file."table" AS table_name, file.path AS path
  FROM (SELECT partition, source, unnest(files) AS file FROM lists);

SET VARIABLE files = (SELECT list(path) FROM listed WHERE table_name = 'day-max');
-- Where several files of a running date hold a pixel, its largest value counts. `interpolated` rows lie between two scans.
WITH pixels AS (
  SELECT storm_date, row, col, max(max_mm) AS max_mm
  FROM read_parquet(getvariable('files'), union_by_name = true, hive_partitioning = false)
  WHERE NOT interpolated
  GROUP BY ALL
)
SELECT storm_date, any_value(listed.source) AS source,
  count(*) FILTER (max_mm >= 19) AS severe_pixels, -- 0.01 by 0.01 degrees each
  count(*) FILTER (max_mm >= 25) AS quarter_pixels,
  round(max(max_mm), 1) AS largest_mm
FROM pixels
JOIN (SELECT DISTINCT storm_date::DATE AS storm_date, source FROM listed) AS listed USING (storm_date)
GROUP BY storm_date
ORDER BY storm_date;
