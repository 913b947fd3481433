# What CI runs, by hand. Captures that are not part of the repository are found
# in $CTXAN_SHARED, by default the folder "shared" beside it.

GO        ?= go
FUZZTIME  ?= 30s
STATICCHECK = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEPGUARD    = $(GO) run github.com/OpenPeeDeeP/depguard/v2/cmd/depguard@v2.2.1

.PHONY: build test race lint fuzz bench record-load man ci

build:
	$(GO) build -o bin/ctxan ./cmd/ctxan

test:
	$(GO) test ./...

# Without the live collector: slowed tenfold, it measures the race detector.
race:
	$(GO) test -race ./parse/... ./cmd/ctxan

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt would change these files"; exit 1; }
	$(GO) vet ./...
	$(STATICCHECK) ./...
	$(DEPGUARD) ./...

# Every fuzz target for FUZZTIME.
fuzz:
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$p || exit 1; \
	  done; \
	done

# Side by side with perf and mawk on the same files in the same run, as ratios.
# The recordings are made once, by `make record-load`; see testdata/bench/README.md.
LOAD ?= /tmp/ctxan-load
bench:
	$(GO) test -run '^$$' -bench . -benchmem ./parse/... ./report/... ./analyze/...
	CTXAN_LOAD=$(LOAD) $(GO) test -run '^$$' -bench 'Against' -benchtime 5x -timeout 60m ./cmd/ctxan

record-load:
	sh $${CTXAN_SHARED:-../shared}/tools/load/record.sh $(LOAD) 20

ci:
	bash .ci/run

# Man pages, for packages.
MANDIR ?= share/man/man1
man: build
	bin/ctxan man $(MANDIR)
