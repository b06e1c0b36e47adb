# make decide    measure the built-in ops and write the decision report, with
#                more options of pyopbench run: make decide ARGS='sinh'
# make test      run the tests; make test ARGS='-k sinh' some of them
# make test-slow run the slow tests: whole runs, every kernel, scripts that
#                pages name
# make test-nightly  simulate what the statistics promise, and what else takes
#                too long for every push
# make lint      check style and types, and workflows where actionlint is installed
# make docs      build the pages of docs/ into .site/, strictly
# make lock      recompile requirements/*.txt and pyopbench/engine/locks/*.txt
# make asv       measure this commit with asv on several TensorFlow versions
#                and write its pages (a quarter of an hour)
# make peers     measure identical code with asv, pytest-benchmark and pyopbench
#                (half an hour)
# make versions  values and gradients on every TensorFlow from 2.12 to 2.21
#                (over an hour, 20 GB of cache)
# make clean     remove .venv, caches and builds; results/ stays
#
# Everything is installed into .venv, from hashed locks. Another Python: make PYTHON=python3.12 decide

PYTHON ?= python3
TEST_PROCESSES ?= --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
export PIP_DISABLE_PIP_VERSION_CHECK := 1

SHELL := /bin/sh
.DELETE_ON_ERROR:
.NOTPARALLEL:
.SUFFIXES:
.PHONY: help decide test test-slow test-nightly lint versions lock lock-versions peers asv docs clean

VENV_PYTHON := .venv/bin/python
UV := .venv/bin/uv

# Without a writable home the caches of pip and uv go into .venv.
ifneq ($(shell test -d "$$HOME" && test -w "$$HOME" && echo usable),usable)
export XDG_CACHE_HOME ?= $(CURDIR)/.venv/cache
endif

# quietly LABEL COMMAND...: one line when it works, the whole log when it does not.
QUIETLY = quietly() { printf '%s ... ' "$$1"; shift; if "$$@" > .venv/setup.log 2>&1; then echo done; \
	else status=$$?; echo failed; cat .venv/setup.log; return $$status; fi; }; quietly

help:
	@sed -n 's/^# \{0,1\}//; /^$$/q; p' Makefile

decide: .venv/.run
	@.venv/bin/pyopbench run --quick $(ARGS)

# The parts of the suite are those of tests/conftest.py. What measures runs alone. Exit code 5 of pytest means that ARGS
# chose nothing of a part; without ARGS, that the part has lost its tests.
RUN = chosen=no; run() { part=$$1; shift; echo "== tests: $$part"; \
	$(VENV_PYTHON) -m pytest --part=$$part "$$@" $(ARGS); \
	case $$?$(if $(ARGS),,-all) in 0*) chosen=yes ;; 5) ;; *) chosen=yes; status=1 ;; esac; }
SUMMARY = [ $$chosen = yes ] || { echo "== no test is chosen"; exit 1; }; \
	[ $$status = 0 ] && echo "== all tests passed" || { echo "== tests failed"; exit 1; }

test: .venv/.dev
	@status=0; $(RUN); run quick $(TEST_PROCESSES); run quick-alone; $(SUMMARY)

test-slow: .venv/.dev
	@status=0; $(RUN); run slow $(TEST_PROCESSES); $(SUMMARY)

test-nightly: .venv/.dev
	@$(VENV_PYTHON) -m pytest -m nightly $(TEST_PROCESSES) $(ARGS)

lint: .venv/.dev
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) -m ruff format --check .
	@$(VENV_PYTHON) -m mypy
	@if command -v actionlint > /dev/null || [ -n "$$GITHUB_ACTIONS" ]; then actionlint; \
	else echo "actionlint is not installed, so that workflows are not checked: https://github.com/rhysd/actionlint"; fi

# A lock holds for Python 3.10 to 3.13 and every platform, and names no index: each machine uses its own.
COMPILE = env -u UV_DEFAULT_INDEX -u UV_INDEX -u UV_INDEX_URL -u UV_EXTRA_INDEX_URL -u UV_FIND_LINKS \
	$(UV) --no-config pip compile --quiet --upgrade --universal --python-version 3.10 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'
PROJECT := pyproject.toml requirements/build.in

lock: .venv/.uv lock-versions
	$(COMPILE) requirements/uv.in -o requirements/uv.txt
	$(COMPILE) $(PROJECT) --extra cpu --extra numba -o requirements/run.txt
	$(COMPILE) $(PROJECT) --extra cpu --extra numba --extra dev --extra docs --constraints requirements/run.txt -o requirements/dev.txt
	$(COMPILE) $(PROJECT) --extra gpu --constraints requirements/run.txt -o requirements/gpu.txt

# What a worker needs with each TensorFlow. Some tensorflow-cpu ask for a tensorflow-intel that was never published for
# them, on Windows only.
lock-versions: .venv/.uv
	@echo "tensorflow-intel ; sys_platform == 'never'" > .venv/overrides.in
	@for lock in pyopbench/engine/locks/*.txt; do version=$$(basename "$$lock" .txt); echo "$$version"; \
	printf "%s\n" "tensorflow-cpu==$$version ; sys_platform == 'linux' and platform_machine != 'aarch64'" \
	"tensorflow==$$version ; sys_platform == 'darwin' or (sys_platform == 'linux' and platform_machine == 'aarch64')" \
	> .venv/version.in; \
	$(COMPILE) --no-annotate --override .venv/overrides.in pyopbench/engine/locks/requirements.in .venv/version.in -o "$$lock" || exit; done

# Needs Python 3.10 or 3.11: other versions lack wheels of some of these TensorFlow versions.
versions: .venv/.dev
	@status=0; for lock in pyopbench/engine/locks/*.txt; do version=$$(basename "$$lock" .txt); echo "== TensorFlow $$version"; \
	.venv/bin/pyopbench verify --tf "$$version" || status=1; done; exit $$status

peers: .venv/.dev
	@$(VENV_PYTHON) benchmarks/against_peers.py

# asv takes uv, and Python for its environments, from the PATH.
asv: .venv/.dev
	@PATH="$(CURDIR)/.venv/bin:$$PATH"; export UV_COMPILE_BYTECODE=1; asv machine --yes && asv run && asv publish

# The warning is of a MkDocs that pyproject.toml keeps out. With --quiet, a strict build would not see its own warnings.
docs: .venv/.dev
	@$(QUIETLY) "Building .site" env NO_MKDOCS_2_WARNING=1 $(VENV_PYTHON) -m mkdocs build

clean:
	rm -rf .venv .asv .site dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find pyopbench tests -type d -name __pycache__ -prune -exec rm -rf {} +

# What is set up, each stamp newer than what it was made from.

# Compiled when installed, once: where PYTHONDONTWRITEBYTECODE is set, every process would compile what it imports.
INSTALL = $(UV) pip install --compile-bytecode --python $(VENV_PYTHON) --require-hashes --requirement

.venv/.uv: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || { \
	echo "pyopbench needs Python 3.10 to 3.13; $(PYTHON) is: $$($(PYTHON) --version 2>&1)." >&2; \
	echo "Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || { \
	echo "$(PYTHON) cannot make virtual environments: its venv or ensurepip module is missing." >&2; \
	echo "On Debian and Ubuntu: apt-get install $$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')" >&2; \
	exit 1; }
	@mkdir -p .venv
	@$(QUIETLY) "Making .venv" $(PYTHON) -m venv .venv
	@$(QUIETLY) "Installing uv" $(VENV_PYTHON) -m pip install --require-hashes --requirement requirements/uv.txt
	@touch $@

.venv/.run: .venv/.uv requirements/run.txt pyproject.toml
	@$(QUIETLY) "Installing TensorFlow and the report's libraries (about 2 GB on disk)" \
	$(INSTALL) requirements/run.txt
	@$(QUIETLY) "Installing pyopbench" \
	$(UV) pip install --python $(VENV_PYTHON) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.dev: .venv/.run requirements/dev.txt
	@$(QUIETLY) "Installing the tools for tests and checks" \
	$(INSTALL) requirements/dev.txt
	@touch $@

