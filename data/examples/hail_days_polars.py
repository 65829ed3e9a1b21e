"""polars: the hail of every published storm date, read as far as needed. Needs polars.

HAIL_DATA=data python3 data/examples/hail_days_polars.py
"""

import polars
from hail_root import files, manifests

for manifest in manifests():
    paths = files(manifest, "day-max")
    if not paths:
        continue
    scanned = polars.scan_parquet(paths).filter(~polars.col("interpolated"))
    pixels = scanned.group_by("row", "col").agg(polars.col("max_mm").max())
    severe, quarter, largest = pixels.select(
        (polars.col("max_mm") >= 19).sum().alias("severe"),
        (polars.col("max_mm") >= 25).sum().alias("quarter"),
        polars.col("max_mm").max().round(1).alias("largest"),
    ).collect().row(0)
    print(manifest["partition"], manifest["source"], severe, quarter, largest)
