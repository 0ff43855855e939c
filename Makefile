# Everything runs in .venv, made from the committed lock; nothing needs to be installed beforehand but Python.
PYTHON ?= python3
# One more than two cores have use for: tests wait for browsers, for other processes and for kernels being compiled.
WORKERS ?= 3
CASES ?= 100

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BROWSER := $(VENV)/.browser
SLURM := $(VENV)/.slurm
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help ready demo test thorough lint docs reference pictures thumbnails notebooks smoke bench lock clean
.DEFAULT_GOAL := help

# A test run starts hundreds of processes; each would compile every module it imports anew.
unexport PYTHONDONTWRITEBYTECODE

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

demo: $(READY) ## run the bundled study and say where the report is
	$(BIN)/joulewise run src/joulewise/examples/demo.toml

test: ready ## the tests of every day; lint and short parts of the benchmarks are among them
	$(BIN)/python -m pytest -n $(WORKERS)

thorough: ready ## everything at length: types, docs, 100 random cases of each property, tests of seconds and minutes
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --thorough $(CASES)

lint: $(READY) ## ruff (rules and format) and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY) ## build the documentation into site/, warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

reference: $(READY) ## write the reference pages that come from tables anew
	$(BIN)/python -m tools.reference

pictures: $(READY) ## take the pictures of the workbench anew
	$(BIN)/python -m tools.workbench_pictures

thumbnails: $(READY) ## draw the small pictures of all figures anew
	$(BIN)/python -m tools.thumbnails

notebooks: $(READY) ## execute the notebooks of the docs and keep what they show
	$(BIN)/python -m tools.notebooks

smoke: $(READY) ## every benchmark at a tiny size, without judging the figures
	$(BIN)/python -m benchmarks --smoke --workers $(WORKERS)

bench: $(READY) ## every benchmark at full size; fails where a bar is missed
	$(BIN)/python -m benchmarks --json

# The groups go in on standard input, because pip-compile reads extras but not dependency groups.
lock: $(READY) ## resolve requirements.lock anew
	{ echo '# Made by `make lock` from pyproject.toml: the core, every extra but [gpu], and the development tools.'; \
	  echo '# Resolved for Python 3.11; the same versions install on 3.12 and 3.13.'; } > $(VENV)/lock
	set -e; $(BIN)/python -m dependency_groups dev | \
	  $(BIN)/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-header --no-emit-options \
	    --extra cluster --extra gym --extra nlp --extra serve --output-file $(VENV)/lock.body pyproject.toml -
	sed -e '/^$$/d' -e '/^# The following packages/d' -e 's/via -r -/via the development tools/' \
	    -e 's/joulewise (pyproject.toml)/joulewise/' $(VENV)/lock.body >> $(VENV)/lock
	mv $(VENV)/lock requirements.lock

clean: ## remove what was built and cached; .venv and results/ stay
	rm -rf site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} +

ready: ## set up .venv, and beside it the browser for tests of pages, and a Slurm for those of queues
	@$(MAKE) --no-print-directory -j 2 $(READY) $(SLURM)

# uv, itself from the lock, installs in a fifth of the time that pip takes; where it cannot, pip does.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Joulewise needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1)." \
	       "Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "Could not make $(VENV); on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	sed -n '/^uv==/,/# via/p' requirements.lock > $(VENV)/uv.lock
	{ $(PIP) --require-hashes -r $(VENV)/uv.lock && \
	  $(BIN)/uv pip install --python $(BIN)/python --require-hashes --no-deps -r requirements.lock; } || \
	  $(PIP) --require-hashes -r requirements.lock
	$(PIP) --no-deps --no-build-isolation -e .
	touch $@

# Tests look at pages in Chromium: installed where this may be done, and otherwise they are skipped and say so.
$(BROWSER):
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } > /dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends chromium > /dev/null; } || \
	  echo "Chromium is not there and cannot be installed from here (root and apt): tests of pages in a browser are skipped." >&2
	@mkdir -p $(VENV) && touch $@

# Tests start a Slurm of their own, with every daemon in a temporary folder; likewise. One apt runs at a time. The
# database of its accounts comes without the packages that would start one for the whole machine.
$(SLURM): $(BROWSER)
	@{ command -v slurmctld && command -v slurmd && command -v munged && command -v slurmdbd && \
	  command -v mariadbd && command -v mariadb; } > /dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends slurm-wlm munge slurmdbd \
	    mariadb-server-core mariadb-client-core > /dev/null; } || \
	  echo "Slurm is not there and cannot be installed from here (root and apt): tests of queues are skipped." >&2
	@mkdir -p $(VENV) && touch $@
