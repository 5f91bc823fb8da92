# Needs Python 3 and make; everything else is installed into virtual environments beside this file.

PYTHON ?= python3
# Everything is tested with Jazzy on the newest Python that is here, and what depends on the version
# of rclpy also with Kilted. The installation is tested on $(PYTHON).
NEWEST_PYTHON ?= $(shell .ci/newest_python $(PYTHON))
VENV ?= .venv
PYTEST_ARGS ?=
# A report of each part of the tests.
REPORTS ?= .reports
# Tests of nodes wait more than they compute, so there are more jobs than processors. Each process
# has a ROS domain of its own.
JOBS ?= 4
# How many times as long as in continuous integration random tests run in a campaign.
CAMPAIGN ?= 25

# Nothing that runs here may talk to other machines.
export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST
# Hundreds of processes would compile this package each for itself.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-jazzy test-core-and-nodes test-core test-nodes test-pages test-kilted campaign soak test-wheel test-colcon lint size prose clean

# Leaves an environment in which tune, watch and calibrate run.
demo: $(VENV)/jazzy.installed
	$(VENV)/bin/transmission_bridge demo

# Runs all parts, and ends with the names of what failed.
test:
	@rm -rf $(REPORTS); failed=; \
	  for part in lint test-core-and-nodes test-pages test-kilted; do \
	    $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; \
	  done; \
	  $(PYTHON) .ci/summary $(REPORTS) $$failed

test-jazzy: test-core-and-nodes test-pages

# Side by side: tests of nodes wait, and the others compute on what they leave of the processors.
test-core-and-nodes: $(VENV)/test.installed
	$(MAKE) --no-print-directory --keep-going --jobs=2 test-core test-nodes

test-core: $(VENV)/test.installed
	nice $(VENV)/bin/python -m pytest -n 2 --dist worksteal -m 'not ros' --junitxml=$(REPORTS)/core.xml $(PYTEST_ARGS)

test-nodes: $(VENV)/test.installed
	$(VENV)/bin/python -m pytest -n $(JOBS) --dist worksteal -m 'ros and not pages' \
	  --junitxml=$(REPORTS)/nodes.xml $(PYTEST_ARGS)

# Alone, because a browser without a graphics card needs both processors.
test-pages: $(VENV)/test.installed
	$(VENV)/bin/python -m pytest -m pages --junitxml=$(REPORTS)/pages.xml $(PYTEST_ARGS)

# Only what depends on the version of rclpy is run again: it is in these folders.
test-kilted: $(VENV)-kilted/kilted.installed
	$(VENV)-kilted/bin/python -m pytest -n $(JOBS) --dist worksteal -m versions \
	  test/ros test/messages --junitxml=$(REPORTS)/kilted.xml $(PYTEST_ARGS)

# All tests, the random ones long, and those marked `campaign`; a campaign with a program of its
# own is a further line here.
campaign: export TRANSMISSION_BRIDGE_CAMPAIGN = $(CAMPAIGN)
campaign: test-jazzy
	$(VENV)/bin/python benchmarks/soak.py --seconds 600 --gate

# Half a minute at 1 kHz both ways: every message answered, and no memory lost.
soak: $(VENV)/jazzy.installed
	$(VENV)/bin/python benchmarks/soak.py --seconds 30 --gate

# As users without ROS install it: a wheel, tested without the source.
test-wheel: $(VENV)-installed/dependencies.installed
	.ci/wheel $(VENV)-installed

# As users of ROS install it: colcon build and colcon test, with the example package beside it.
test-colcon: $(VENV)-installed/dependencies.installed
	.ci/colcon $(VENV)-installed

# Types of rclpy are complete since Kilted.
lint: size prose $(VENV)/test.installed $(VENV)-kilted/kilted.installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)-kilted/bin/mypy

# Lines of code of each room, and turns of phrase that make English hard to read; both have limits,
# and need nothing but Python.
size:
	$(PYTHON) .ci/size.py

prose:
	$(PYTHON) .ci/prose.py transmission_bridge README.md docs

$(VENV)/jazzy.installed: setup.py
	$(NEWEST_PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --editable '.[jazzy,cli,tune,calibrate]'
	touch $@

$(VENV)/test.installed: $(VENV)/jazzy.installed
	$(VENV)/bin/python -m pip install --quiet --editable '.[jazzy,test]'
	touch $@

$(VENV)-kilted/kilted.installed: setup.py
	$(NEWEST_PYTHON) -m venv $(VENV)-kilted
	$(VENV)-kilted/bin/python -m pip install --quiet --editable '.[kilted,test-core]' mypy lxml-stubs
	touch $@

# Only the dependencies, of this package and of colcon: the package itself comes from its wheel, or
# from the workspace.
$(VENV)-installed/dependencies.installed: setup.py
	$(PYTHON) -m venv $(VENV)-installed
	$(VENV)-installed/bin/python -m pip install --quiet '.[jazzy,test-core]' colcon-common-extensions
	$(VENV)-installed/bin/python -m pip uninstall --quiet --yes transmission_bridge
	rm -rf build
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-kilted $(VENV)-installed build install log dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
