"""Everything that draws: charts, boards, planes, and their fonts and labels."""
