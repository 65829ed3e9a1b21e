"""QGIS: the swaths, tracks and largest hail of a storm date as a project. Needs geopandas and pyarrow.

HAIL_DATA=data python3 data/examples/qgis_project.py 2026-05-01 out

Writes swaths.geojson and tracks.geojson into the folder, and hail.qgs beside them: open that in QGIS 3. Its sources are
relative, so the folder may be moved. QGIS itself reads the Parquet and PMTiles files only with a recent GDAL.
"""

import pathlib
import re
import sys

import geopandas
import pandas
from hail_root import files, manifests

date, out = sys.argv[1], pathlib.Path(sys.argv[2])
manifest = next((one for one in manifests() if one["partition"] == date), None)
if manifest is None:
    sys.exit(f"{date} is not published")
out.mkdir(parents=True, exist_ok=True)

parts = [geopandas.read_parquet(path) for path in files(manifest, "swaths")]
if not parts:
    sys.exit(f"{date} has no swath: nothing reached 19 mm")
# The tiers nest: the larger hail comes later and is drawn above.
swaths = pandas.concat(parts).sort_values("threshold_mm")
swaths = swaths[["storm_date", "threshold_mm", "category", "area_km2", "max_size_mm", "geometry"]]
swaths["storm_date"] = swaths["storm_date"].astype(str)
swaths.to_file(out / "swaths.geojson", driver="GeoJSON")

columns = ["track_id", "scan_time", "lat", "lon", "estimated_size_mm", "state"]
parts = [pandas.read_parquet(path, columns=columns) for path in files(manifest, "tracks")]
points = pandas.concat(parts).query("state == 'tracked'").sort_values(["track_id", "scan_time"])
points["scan_time"] = points["scan_time"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
places = geopandas.points_from_xy(points["lon"], points["lat"], crs="EPSG:4326")
geopandas.GeoDataFrame(points.drop(columns=["lat", "lon"]), geometry=places).to_file(out / "tracks.geojson", driver="GeoJSON")

# The project opens where the hail is.
west, south, east, north = swaths.total_bounds
extent = f"<xmin>{west}</xmin><ymin>{south}</ymin><xmax>{east}</xmax><ymax>{north}</ymax>"
project = pathlib.Path(__file__).with_name("hail.qgs").read_text()
(out / "hail.qgs").write_text(re.sub("(?<=<extent>).*(?=</extent>)", extent, project))
print(f"{len(swaths)} tiers, {len(points)} points of tracks ({manifest['source']}): open {out / 'hail.qgs'} in QGIS")
