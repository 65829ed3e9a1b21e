"""pandas: the hail of every published storm date. Needs pandas and pyarrow.

HAIL_DATA=data python3 data/examples/hail_days.py
"""

import pandas
from hail_root import files, manifests

days = []
for manifest in manifests():
    parts = [pandas.read_parquet(path, columns=["row", "col", "max_mm", "interpolated"])
             for path in files(manifest, "day-max")]
    rows = pandas.concat(parts) if parts else pandas.DataFrame(columns=["row", "col", "max_mm", "interpolated"])
    # A running date has several files: of a pixel in more than one of them, the largest value counts.
    scanned = rows[~rows["interpolated"].astype(bool)].astype({"row": "int32", "col": "int32", "max_mm": "float64"})
    pixels = scanned.groupby(["row", "col"])["max_mm"].max()
    days.append({
        "storm_date": manifest["partition"],
        "source": manifest["source"],
        "severe_pixels": int((pixels >= 19).sum()),
        "quarter_pixels": int((pixels >= 25).sum()),
        "largest_mm": round(float(pixels.max()), 1) if len(pixels) else None,
    })
print(pandas.DataFrame(days).to_string(index=False))
