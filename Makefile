# Every target makes .venv first if it is not there, or is older than pyproject.toml. Another Python beside it:
# make test VENV=.venv-3.11 PYTHON=python3.11
SUITS = import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do $$p -c '$(SUITS)' 2>/dev/null && echo $$p && exit; done; echo python3)
VENV = .venv
BIN = $(VENV)/bin
RULES := tests/data/game/test_coords.py tests/data/game/test_symmetry.py tests/data/game/test_board.py tests/data/game/test_board_kernels.py tests/mcts/rollouts/test_rollouts.py \
	tests/data/features/test_planes.py
PATTERNS := tests/data/patterns/test_patterns.py tests/mcts/rollouts/test_policy_rollouts.py
SELFPLAY := tests/mcts/selfplay/test_policy_games.py tests/mcts/selfplay/trees/test_tree_games.py
SIDE_BY_SIDE := -n auto --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-hour nojit bounds lint format speed golden clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 18

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c '$(SUITS)' || { echo "Python 3.11 to 3.13 is needed; name one, as in: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(VENV)/installed  ## the main job on the games that ship with the project, in a few minutes
	$(BIN)/python pipelines/run_demo.py

test: $(VENV)/installed  ## fast tests, about six minutes of two cores
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not slow and not gpu and not clock"
	$(BIN)/python -m pytest -m "clock and not slow and not gpu"

test-all: $(VENV)/installed  ## all tests
	$(BIN)/python -m pytest

test-hour: $(VENV)/installed  ## an hour of search, and what it takes of memory
	LAMBDAGO_HOURS=1 $(BIN)/python -m pytest tests/mcts/search/test_search.py -k memory

nojit: $(VENV)/installed  ## rules and planes with the kernels interpreted
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not slow and not gpu" $(RULES)

bounds: $(VENV)/installed  ## rules, planes, patterns and self-play with index checks in the kernels
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not slow and not gpu" $(RULES) $(PATTERNS) $(SELFPLAY)

lint: $(VENV)/installed  ## style, types and import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/installed  ## let ruff format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

speed: $(VENV)/installed  ## table of throughputs on this machine
	$(BIN)/python pipelines/measure_speed.py

golden: $(VENV)/installed  ## rewrite golden files; look at the diff before committing
	LAMBDAGO_GOLDEN=rewrite $(BIN)/python -m pytest -m "not slow and not gpu" -k golden

clean:  ## remove what was made here, but for datasets and outputs
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis
