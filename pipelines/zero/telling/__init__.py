"""How a run of `train_zero.py` tells what it does: begin with `teller.py`.

rows      rounds.csv and matches.csv, whole or not there
words     lines for people
screen    what goes on now: a live view on a terminal, else a line every 30 seconds
samples   games of a round as SGF
teller    all of it, and TensorBoard
page      the page of `report_zero.py` about one run
compare   and about several runs
"""
