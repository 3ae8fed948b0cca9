"""How many cores this process may use.

`available_cores` counts for processes of our own, `compute_cores` for threads of arithmetic.

Three things limit them: the affinity of the process (`taskset`, Slurm), the quota of its control
group (`docker --cpus=2`, systemd, Kubernetes), and, for arithmetic alone, that two hyperthreads
share the units of one core.
"""

import os
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
TOPOLOGY = Path("/sys/devices/system/cpu")


def available_cores() -> int:
    """Hyperthreads count as cores."""
    return within_quota(len(usable()) or os.cpu_count() or 1)


def compute_cores() -> int:
    """Hyperthreads of one core count once: matrix products fill a core with one thread."""
    siblings = {siblings_of(cpu) for cpu in usable()}
    return within_quota(len(siblings) or os.cpu_count() or 1)


def usable() -> set[int]:
    """Numbers of the logical processors for this process; empty if the system has no list."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def siblings_of(cpu: int) -> str:
    """The logical processors on the same core, as Linux writes them.

    If Linux writes none: the processor alone.
    """
    try:
        return (TOPOLOGY / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


def within_quota(cores: int) -> int:
    """At least 1.

    Rounded down: threads above the quota wait for each other while the system holds one of them
    back.
    """
    return max(1, min([cores, *(int(quota) for quota in quotas())]))


def quotas() -> list[float]:
    """The limits in cores of the control group of this process and of those around it."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:  # not Linux
        return []
    found = []
    # such as 0::/user.slice (version 2) or 4:cpu,cpuacct:/docker/1f2e (version 1)
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            inside = Path(path.lstrip("/"))
            found += [
                limit_of(CGROUPS / controllers / folder) for folder in (inside, *inside.parents)
            ]
    return [limit for limit in found if limit is not None]


def limit_of(group: Path) -> float | None:
    """The limit of one control group in cores; None if it has none or does not show it."""
    try:
        if (group / "cpu.max").is_file():
            quota, period = (group / "cpu.max").read_text().split()
        else:
            quota, period = (
                (group / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period")
            )
    except (OSError, ValueError):
        return None
    return int(quota) / int(period) if quota.isdecimal() and int(period) > 0 else None
