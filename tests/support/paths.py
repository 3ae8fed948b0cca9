"""Where tests find the project, and the archives of real games beside it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REAL_GAMES = ROOT.parent / "shared" / "games"
