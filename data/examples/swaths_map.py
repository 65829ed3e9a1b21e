"""GeoPandas: the swaths of a storm date on a map. Needs geopandas, pyarrow and matplotlib.

HAIL_DATA=data python3 data/examples/swaths_map.py 2026-05-01 swaths.png [states.json]

The third argument is any file of borders that GeoPandas reads, such as node_modules/us-atlas/states-10m.json.
"""

import sys

import geopandas
import matplotlib
import pandas
from hail_root import files, manifests

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402
from shapely import box  # noqa: E402

COLORS = {19: "#f4bf45", 25: "#f08a3c", 38: "#d04339", 63: "#a3205f", 69: "#6a1570", 101: "#2c0b4a"}
INK, QUIET, PAPER = "#22303c", "#6b7b87", "#fbfbf8"
EQUAL_AREA = "EPSG:5070"
SHAPE = (10 * 0.96) / (7.5 * 0.88)  # width of the map by its height

date, picture = sys.argv[1], sys.argv[2]
borders = sys.argv[3] if len(sys.argv) > 3 else None

manifest = next((one for one in manifests() if one["partition"] == date), None)
if manifest is None:
    sys.exit(f"{date} is not published")
parts = [geopandas.read_parquet(path) for path in files(manifest, "swaths")]
swaths = pandas.concat(parts) if parts else None
if swaths is None or swaths.empty:
    sys.exit(f"{date} has no swath: nothing reached 19 mm")
swaths = swaths.sort_values("threshold_mm").to_crs(EQUAL_AREA)

figure, axes = pyplot.subplots(figsize=(10, 7.5), dpi=120, facecolor=PAPER)
axes.set_facecolor(PAPER)
west, south, east, north = swaths.total_bounds
# The map fills the picture: the shorter side is widened around its middle.
width, height = 1.24 * (east - west), 1.24 * (north - south)
width, height = max(width, height * SHAPE, 60_000 * SHAPE), max(height, width / SHAPE, 60_000)
west, east = (west + east - width) / 2, (west + east + width) / 2
south, north = (south + north - height) / 2, (south + north + height) / 2
if borders is not None:
    states = geopandas.read_file(borders, **({"layer": "states"} if borders.endswith("states-10m.json") else {}))
    states = (states if states.crs else states.set_crs("EPSG:4326")).to_crs(EQUAL_AREA)
    states.plot(ax=axes, facecolor="#f1efe8", edgecolor="#9aa5ad", linewidth=0.8)
    # Names lie under the hail, in the middle of what the map shows of a state.
    shown = states.clip(box(west, south, east, north))
    for name, place in zip(shown.get("name", []), shown.representative_point()):
        axes.annotate(" ".join(str(name).upper()), (place.x, place.y), color="#bcc5c9", ha="center", fontsize=13,
                      zorder=1, annotation_clip=True, clip_on=True)
for _, tier in swaths.iterrows():
    color = COLORS.get(int(tier["threshold_mm"]), INK)
    geopandas.GeoSeries([tier["geometry"]], crs=EQUAL_AREA).plot(ax=axes, color=color, edgecolor="none", zorder=2)

axes.set(xlim=(west, east), ylim=(south, north), aspect="equal", xticks=[], yticks=[], xlabel="", ylabel="")
for spine in axes.spines.values():
    spine.set_edgecolor("#d5d9d6")

# A bar of 50 km: the map is in metres.
scale, x, y = 50_000, west + 0.03 * width, south + 0.04 * height
axes.plot([x, x + scale], [y, y], color=INK, linewidth=2, solid_capstyle="butt")
axes.annotate("50 km", (x + scale / 2, y), xytext=(0, 5), textcoords="offset points", ha="center", color=INK, fontsize=9)

keys = [Patch(color=COLORS.get(int(mm), INK), label=f"≥ {mm:g} mm, {category.replace('_', ' ')}: {area:,.0f} km²")
        for mm, category, area in zip(swaths["threshold_mm"], swaths["category"], swaths["area_km2"])]
axes.legend(handles=keys, loc="upper right", frameon=True, facecolor="white", edgecolor="#d5d9d6", labelcolor=INK, fontsize=10)
source = "NOAA MRMS" if manifest["source"] == "observed" else "SIMULATED, not observed"
figure.text(0.02, 0.955, f"Hail of {date}", color=INK, fontsize=18, fontweight="bold")
figure.text(0.02, 0.92, f"largest {swaths['max_size_mm'].max():.1f} mm · {source}", color=QUIET, fontsize=11)
figure.subplots_adjust(left=0.02, right=0.98, bottom=0.02, top=0.9)
figure.savefig(picture, facecolor=PAPER)
for _, tier in swaths.iterrows():
    # Areas of the polygons agree with the published ones, which sum exact pixel areas on the ellipsoid.
    print(f"{tier['threshold_mm']:g} mm {tier['area_km2']:.1f} km2 published, {tier['geometry'].area / 1e6:.1f} km2 drawn")
