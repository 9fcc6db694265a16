"""Table and JSON of compare-versions: compare_table.py OUT.json CASE..."""

import json, statistics, subprocess, sys
rows = []
for words in sys.argv[2:]:
    name = words.translate(str.maketrans(",=", "-."))
    try:
        rows.append({"task": words.split(","), "bench": json.load(open(f"/tmp/compare/{name}.json"))})
    except Exception as error:
        rows.append({"task": words.split(","), "error": str(error)})
card = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
json.dump({"card": card, "command": "scripts/device/compare-versions", "rows": rows}, open(sys.argv[1], "w"), indent=1)
for row in rows:
    if "error" in row:
        print(" ".join(row["task"]), "no result:", row["error"])
        continue
    ours, lib = row["bench"]["rows"][:2], row["bench"]["rows"][2:]
    line = f"old/new {ours[0]['time_us'] / ours[1]['time_us']:.3f}"
    for one in lib:
        line += f"  {one['name']}/new {one['time_us'] / ours[1]['time_us']:.3f}"
    print(" ".join(row["task"]), line)
