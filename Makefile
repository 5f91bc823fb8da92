# Needs Python 3 and make; everything else is installed into virtual environments beside this file.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=

# Nothing that runs here may talk to other machines.
export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST

.PHONY: demo test test-kilted test-jazzy lint clean

demo: $(VENV)/kilted.installed
	$(VENV)/bin/transmission_bridge demo

test: lint test-kilted test-jazzy

test-kilted: $(VENV)/kilted.installed
	$(VENV)/bin/python -m pytest $(PYTEST_ARGS)

# The core is the same on both distributions: only what touches rclpy is run again.
test-jazzy: $(VENV)-jazzy/jazzy.installed
	$(VENV)-jazzy/bin/python -m pytest -m ros $(PYTEST_ARGS)

lint: $(VENV)/kilted.installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

$(VENV)/kilted.installed: setup.py
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --editable '.[kilted,test]'
	touch $@

$(VENV)-jazzy/jazzy.installed: setup.py
	$(PYTHON) -m venv $(VENV)-jazzy
	$(VENV)-jazzy/bin/python -m pip install --quiet --editable '.[jazzy,test_core]'
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-jazzy build install log dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
