.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
PROGRAMS := touchstone touchstoned touchstone-enclave
# It gives SignIn and Desktop folders of their own. In the shared one a package that SignIn needs would take our module Security for
# Apple's. The command would find the window's program beside itself, and setup and its tests would ask about it.
BUILD := script/build
.PHONY: help build bridges sync desktop pages sign-in demo simulator screenshots test test-system fuzz sanitize deb dist test-deb bench format docs check clean

help: ## What there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the three programs
	@script/install-packages build
	@for program in $(PROGRAMS); do $(BUILD) --product $$program; done

bridges: ## Build what ssh, git and sudo ask: touchstone-ssh-agent, git-credential-touchstone, pam_touchstone.so and their like
	@script/install-packages build
	@$(BUILD) --package-path Bridges
	@script/pam-module .build/debug

sync: ## Build touchstone-sync, which carries synchronizable items between your devices
	@script/install-packages build
	@$(BUILD) --package-path Sync --product touchstone-sync

desktop: ## Build touchstone-agent, the window that asks (GTK 4)
	@script/install-packages desktop
	@$(BUILD) --package-path Desktop

sign-in: ## Build the sign-in server and its client: touchstone-signin and touchstone-login
	@script/install-packages build
	@$(BUILD) --package-path SignIn

pages: ## Build what has a page: the simulator and Chores, the sample app
	@script/install-packages build
	@$(BUILD) --package-path Simulator

demo: ## Hear a story on a throw-away simulated device; on a terminal you are the finger (DEMO=auto: nobody is asked; DEMO=steps: every outcome; SIGN_IN=yes: with a server)
	@script/install-packages demo
	@SIGN_IN='$(SIGN_IN)' DEMO='$(DEMO)' script/build-demo
	@TOUCHSTONE_BIN='$(CURDIR)/.build/debug' DEMO='$(DEMO)' Examples/demo

simulator: build pages ## Show a simulated device in a browser, with Chores beside it (DEVICE=name: one of yours; BIOMETRY=faceid)
	@BIOMETRY='$(BIOMETRY)' script/simulator $(DEVICE)

screenshots: build pages sign-in ## Take the pictures of docs/images again
	@script/install-packages test
	@script/python-environment
	@script/screenshots

test: ## Run every test (ONLY="name ...": those with such a word in their name)
	@script/install-packages test
	@script/python-environment
	-@script/git-tests
	@$(BUILD) --package-path Examples
	@$(BUILD) --package-path Simulator --build-tests
	@$(BUILD) --package-path Bridges --build-tests
	@$(BUILD) --package-path Desktop
	@$(BUILD) --package-path SignIn --build-tests
	@$(BUILD) --package-path Sync --build-tests
	@Tests/Scripts/first-tests.py --build
	@$(BUILD) --build-tests
	@script/run-tests $(ONLY)

test-system: ## Run the tests of the system service, in a container and a guest of their own (as root)
	@script/install-packages test system
	@script/python-environment
	@script/guest-kernel
	@for program in $(PROGRAMS) touchstone-peers; do $(BUILD) --product $$program; done
	@$(BUILD) --product touchstone-pam-verify
	@$(BUILD) --package-path Bridges
	@script/run-tests Tests/System/system-service.py Tests/System/attacks.py Tests/System/bridge-units.py Tests/System/pam.py Tests/System/fido.py

FUZZ_SECONDS ?= 60
fuzz: ## Run libFuzzer over every parser of foreign bytes (FUZZ_SECONDS=60 each, FUZZ_TARGETS="json age")
	@script/install-packages build
	@script/fuzz $(FUZZ_SECONDS) $(FUZZ_TARGETS)

sanitize: ## Run the Swift tests under AddressSanitizer and ThreadSanitizer (SANITIZE=address, ONLY=name)
	@script/install-packages test
	@for sanitizer in $(or $(SANITIZE),address thread); do script/sanitize $$sanitizer $(ONLY); done

deb: ## Build the Debian packages, in a release build (.build-deb/packages)
	@script/install-packages deb
	@script/debs

dist: ## Make a tarball with install.sh, in a release build (.build-dist)
	@script/install-packages deb
	@script/dist

test-deb: ## Install, upgrade, remove and purge packages and tarball in Debian 12 and 13 (as root, with a mirror; some minutes)
	@script/install-packages deb
	@script/test-debs

bench: ## Measure against the budgets, in a release build
	@script/install-packages bench
	@status=0; Benchmarks/run || status=1; SignIn/Benchmarks/run || status=1; exit $$status

format: ## Format the sources
	@script/format

docs: ## Build one static site of the Swift documentation (.build-docs/site), warnings as errors, links checked
	@script/install-packages build
	@script/check-docs

check: ## The quick checks: rules, words, same texts, interfaces, layers, products, Python, format
	@script/check-rules
	@script/check-words
	@script/same-text --check
	@script/interfaces --check
	@script/statuses --check
	@script/interface-pages --check
	@script/shown-sources --check
	@script/decisions-index --check
	@script/check-links
	@script/check-layers
	@script/check-products
	@script/check-python
	@script/fuzz --check
	@script/format --check

clean: ## Remove what was built
	@rm -rf .build .build-* debian/.debhelper debian/libpam-touchstone debian/libtouchstone-dev debian/touchstone debian/touchstone-bridges debian/touchstone-desktop debian/touchstone-simulator debian/touchstone-sync */.build Examples/Chores/.build
