# The front door. Every target installs what it needs first and may be repeated.
SHELL := /bin/sh
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
# Node keeps what it compiled: every later start is quicker.
export NODE_COMPILE_CACHE := $(CURDIR)/node_modules/.cache/compiled

.DEFAULT_GOAL := help
# Packages of development are installed before what needs none of them: npm runs once.
.NOTPARALLEL:

.PHONY: help
help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# npm is run by whatever Node the machine has; everything after it by the pinned one under node_modules.
# `install --no-save` keeps to the lockfile like `ci`, but does not insist on binaries of platforms that this is not.
# npm 9.2, which Debian has, deletes the command `node` with the package of the other processor: it is linked again.
# Node's headers are 67 MB that nothing here compiles against.
define npm-install
	npm install --no-save --no-audit --no-fund --loglevel=error --ignore-scripts $(1)
	@for node in node_modules/node-linux-*/bin/node; do if [ -x "$$node" ]; then ln -sf "..$${node#node_modules}" node_modules/.bin/node; fi; done
	@rm -rf node_modules/node-linux-*/include
	@touch node_modules/.installed
endef

# Packages of development that are there stay.
node_modules/.installed: package.json package-lock.json
	$(call npm-install,$(if $(wildcard node_modules/.developed),,--omit=dev))

node_modules/.developed: package.json package-lock.json
	$(call npm-install)
	@touch $@

.PHONY: packages
packages: node_modules/.installed ## install the pinned packages, Node included

.PHONY: develop
develop: node_modules/.developed install ## install the packages of development too

# The map page: its modules and their packages in one bundle; drawing and street maps are in two more, loaded when they are needed.
VIEWER := node_modules/.viewer
$(VIEWER)/viewer.js: node_modules/.installed $(shell find api/viewer schemas -type f 2>/dev/null)
	@rm -rf $(VIEWER)
	@esbuild api/viewer/viewer.tsx api/viewer/map/draw.ts api/viewer/map/streets.ts api/viewer/viewer.css --bundle --minify --format=esm \
	  --target=es2022 --external:./draw.js --external:./streets.js --loader:.svg=dataurl --log-level=warning '--entry-names=[name]' --outdir=$(VIEWER)

.PHONY: install
install: packages $(VIEWER)/viewer.js ## install the packages and build the map page

.PHONY: ingest
ingest: install ## publish a source once: SOURCE=dir FROM=folder, SOURCE=noaa DATE=YYYY-MM-DD, or a simulated evening
	@node --disable-sigusr1 pipeline/start.js ingest $(if $(SOURCE),--source $(SOURCE)) $(if $(FROM),--from "$(FROM)") $(if $(DATE),--date $(DATE)) $(if $(PRODUCTS),--products $(PRODUCTS))

.PHONY: stream
stream: install ## follow a source: SOURCE=dir FROM=folder, SOURCE=simulate EVERY=seconds, or the public bucket
	@node --disable-sigusr1 pipeline/start.js stream $(if $(SOURCE),--source $(SOURCE)) $(if $(FROM),--from "$(FROM)") $(if $(PRODUCTS),--products $(PRODUCTS)) $(if $(EVERY),--every $(EVERY))

.PHONY: serve
serve: install ## answer /v1 from the published data; the first start prints a key and three curl lines
	@node --max-semi-space-size=8 --disable-sigusr1 api/start.js serve

.PHONY: verify
verify: install ## re-read everything that is published and say what is wrong
	@node --disable-sigusr1 pipeline/start.js verify

# One file more than processors: some wait for limits of time.
.PHONY: test
test: develop ## run the fast tests
	@ava --concurrency=$$(($$(getconf _NPROCESSORS_ONLN) + 1)) 'test/*.test.ts' 'test/!(slow)/**'

.PHONY: test-records
test-records: develop ## run the tests of the records and the queue on PostgreSQL: HAIL_TEST_DATABASE_URL=postgres://…
	@ava 'test/records/*postgres.test.ts'

# What guards the work day by day: kills, faults of disk and files, orders of arrival, long runs, starts, one walk through the map.
CORE := 'test/slow/{arrival,crash,crash-derived,disk-full,hail-days-and-hours,model-feed,publish,sweep,viewer-walks}.test.ts' \
	'test/slow/killed-{alerts,charges,deliveries,jobs}.test.ts' 'test/slow/run/{ingest-*,catalogue,refresh}.test.ts' \
	'test/slow/commands/{backfill,serve}.test.ts'

.PHONY: test-slow
test-slow: develop ## run the core of the slow tests: kills, faults of disk and files, orders of arrival, a walk through the map
	@ava --timeout=20m $(CORE)

.PHONY: test-all
test-all: develop ## run every test, before a release: also each screen, fuzz, other readers, deployment (an hour)
	@ava --timeout=20m

.PHONY: test-kill
test-kill: develop ## kill the pipeline at every single step of a commit (most of an hour)
	@HAIL_TEST_EVERY_POINT=1 ava --timeout=90m test/slow/crash.test.ts

.PHONY: check
check: develop ## check types, lint and format
	@tsc --noEmit
	@tsc -p api/viewer
	@biome check --error-on-warnings .

.PHONY: bench
bench: develop ## measure speed as ratios against peers where they are installed
	@node test/bench/main.ts

.PHONY: clean
clean: ## remove installed packages; published data stay
	rm -rf node_modules
