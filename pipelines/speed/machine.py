"""The machine that figures are measured on."""

import os
import platform
from datetime import datetime
from pathlib import Path
from typing import Any

from pipelines.shell.project import commit


def machine() -> dict[str, Any]:
    """Return when, where and with which program figures were measured."""
    return {
        "date": datetime.now().astimezone().isoformat(timespec="minutes"),
        "commit": commit(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def processor() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
