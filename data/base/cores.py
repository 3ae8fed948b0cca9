"""How many cores this process may use.

    available_cores()   for processes of our own; hyperthreads count as cores
    compute_cores()     for threads of arithmetic; hyperthreads of one core count once

Both heed the affinity of the process (`taskset`, Slurm) and the quota of its control group
(`docker --cpus=2`, systemd, Kubernetes).
"""

import os
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
TOPOLOGY = Path("/sys/devices/system/cpu")


def available_cores() -> int:
    """Logical processors within affinity and quota, at least 1."""
    return within_quota(len(usable()) or os.cpu_count() or 1)


def compute_cores() -> int:
    """Physical cores within affinity and quota: one thread of a matrix product fills a core."""
    siblings = {siblings_of(cpu) for cpu in usable()}
    return within_quota(len(siblings) or os.cpu_count() or 1)


def usable() -> set[int]:
    """The logical processors this process may run on; empty where the system does not tell."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def siblings_of(cpu: int) -> str:
    """The logical processors on the same core, as Linux writes them, or else `cpu` alone."""
    try:
        return (TOPOLOGY / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


def within_quota(cores: int) -> int:
    """`cores` cut to the quota, rounded down, at least 1.

    Threads above the quota wait for each other while the system holds one of them back.
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
    """The limit of one control group, or None if it has none or this container hides it."""
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
