"""What two runs that did the same must have alike."""

import json

from coevo.agents.models import manifest
from coevo.trainers import checkpoint


def content(folder):
    """Return hashes of the last checkpoint's files, what the run counted, and what it logged.

    Seconds are left out.
    """
    last = checkpoint.latest(folder.checkpoints)
    files = json.loads((last / manifest.FILE).read_text())["files"]
    hashes = {n: e["sha256"] for n, e in files.items() if n != "progress.json"}
    progress = json.loads((last / "progress.json").read_text())
    del progress["seconds"]
    metrics = [
        {k: v for k, v in m.items() if "seconds" not in k and k != "tokens_per_second"}
        for m in folder.read_metrics()
    ]
    return hashes, progress, metrics
