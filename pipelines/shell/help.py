"""The help of a script is its configuration file: the comments there explain every key."""

import re

from pipelines.shell.configuration import CONF
from pipelines.shell.environment import PROGRAMS, is_installed_program, start_of_command


def help_text(name: str) -> str:
    """Return the configuration file of a script, then the chosen file of each of its groups."""
    own = (CONF / f"{name}.yaml").read_text(encoding="utf-8").strip()
    lines = [own]
    for group in groups():
        if f"- {group}:" in own or f"- /{group}" in own:
            lines += group_help(group, own)
    text = re.sub(r"python pipelines/(\w+)\.py", lambda found: start(found[1]), "\n".join(lines))
    return f"{start(name)} key=value ...\n\n{with_programs(text)}"


def with_programs(text: str) -> str:
    """Name the installed programs in place of scripts, where such a program runs."""
    if not is_installed_program():
        return text
    names = "|".join(PROGRAMS)
    return re.sub(rf"\S*\b({names})\.py\b", lambda found: start(found[1]), text)


def start(script: str) -> str:
    """Return the words that start a script, as this one was started."""
    return " ".join(start_of_command(script))


def groups() -> list[str]:
    """Return the folders of `conf/` that hold choices; those of Hydra are no matter of users."""
    return [
        folder.name
        for folder in sorted(CONF.iterdir())
        if folder.name != "hydra" and folder.is_dir() and any(folder.glob("*.yaml"))
    ]


def group_help(group: str, own: str) -> list[str]:
    """Return the choices of a group, and the file of the one that `own` chooses."""
    choices = ", ".join(sorted(path.stem for path in (CONF / group).glob("*.yaml")))
    lines = [f"\n{group}= is one of: {choices}  (in conf/{group}/)"]
    chosen = re.search(rf"^ *- (?:override )?/?{group}(?:@\S+)?: (\w+)", own, re.MULTILINE)
    if chosen and (CONF / group / f"{chosen[1]}.yaml").is_file():
        text = (CONF / group / f"{chosen[1]}.yaml").read_text(encoding="utf-8").strip()
        lines.append(f"  {group}={chosen[1]}; say its keys as {group}.key=value:")
        lines += [f"    {line}".rstrip() for line in text.splitlines()]
    return lines
